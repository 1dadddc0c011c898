//! The scenarios are embedded in the binary: a new file among them has to have it built again.

fn main() {
    println!("cargo::rerun-if-changed=scenarios");
}
