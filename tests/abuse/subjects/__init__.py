"""Small subjects, sound but for the kind that they are given: servers, clients, and a JavaScript module."""
