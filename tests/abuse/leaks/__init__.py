"""Plants secrets wherever a subject or a user can put one, and searches what wirecert writes for them."""
