"""Plays wirecert against subjects that misbehave, and checks what has to hold for each."""
