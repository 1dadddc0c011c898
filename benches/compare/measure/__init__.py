"""What all rows need: programs that are started and stopped, figures with their spread, and the page."""
