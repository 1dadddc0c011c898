mod certified;
mod driven;
mod processes;
