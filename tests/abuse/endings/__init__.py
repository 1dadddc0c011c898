"""Ends wirecert at random moments, and checks what it leaves."""
