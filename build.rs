//! What cargo cannot say in the manifest.

fn main() {
    // The scenarios are embedded in the binary: a new file among them has to have it built again.
    println!("cargo::rerun-if-changed=scenarios");
    println!("cargo::rerun-if-changed=build.rs");
    // At a fixed address: some 66,000 addresses in constant tables need not be written at every start, which is half of
    // the time that a short-lived mock takes to start, and a tenth of the binary.
    // Elsewhere, and where everything is linked statically, it is the linker's own business.
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|v| v == value);
    let dynamic = !std::env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|v| v.split(',').any(|f| f == "crt-static"));
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && dynamic {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
