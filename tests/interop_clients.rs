//! The example clients under `examples/clients`, as people will run them. `tests/interop/setup` installs the libraries
//! that they are built on.
