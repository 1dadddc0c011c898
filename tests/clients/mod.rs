mod driven;
mod processes;
