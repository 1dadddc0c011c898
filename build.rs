//! What cargo cannot say in the manifest.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::ZlibEncoder;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=scenarios");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    fs::write(out.join("scenarios.zlib"), packed(Path::new("scenarios"))?)?;
    // At a fixed address: some 66,000 addresses in constant tables need not be written at every start, which is half of
    // the time that a short-lived mock takes to start, and a tenth of the binary.
    // Elsewhere, and where everything is linked statically, it is the linker's own business.
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|v| v == value);
    let dynamic = !std::env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|v| v.split(',').any(|f| f == "crt-static"));
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && dynamic {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    Ok(())
}

/// All files below a folder, sorted by path, compressed as one text: a tenth of the size. Of each file the path below the
/// folder, a NUL, the content, and a NUL.
fn packed(root: &Path) -> io::Result<Vec<u8>> {
    let mut files = vec![];
    collect(root, "", &mut files)?;
    files.sort();
    let mut encoder = ZlibEncoder::new(vec![], Compression::best());
    for (name, path) in files {
        let content = fs::read_to_string(&path)?;
        assert!(!content.contains('\0'), "{name} has a NUL");
        io::Write::write_all(&mut encoder, format!("{name}\0{content}\0").as_bytes())?;
    }
    encoder.finish()
}

fn collect(folder: &Path, above: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{above}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.push((name, entry.path()));
        }
    }
    Ok(())
}
