mod amplifier;
mod certified;
mod certify;
mod driven;
mod openctx;
mod processes;
