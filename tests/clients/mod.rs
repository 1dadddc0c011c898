mod certified;
mod driven;
mod openctx;
mod processes;
