//! The files of the page, which the program has in it: [`file()`].

use crate::export::html::frame::{self, exported, framed};

/// A file of the page.
pub struct PageFile {
    /// Its media type.
    pub media_type: &'static str,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The modules of the page.
const MODULES: [(&str, &str); 11] = [
    ("acts.js", include_str!("page/acts.js")),
    ("client.js", include_str!("page/client.js")),
    ("compare.js", include_str!("page/compare.js")),
    ("details.js", include_str!("page/details.js")),
    ("form.js", include_str!("page/form.js")),
    ("keep.js", include_str!("page/keep.js")),
    ("list.js", include_str!("page/list.js")),
    ("main.js", include_str!("page/main.js")),
    ("suite.js", include_str!("page/suite.js")),
    ("switches.js", include_str!("page/switches.js")),
    ("traces.js", include_str!("page/traces.js")),
];

/// The file at a path; none where there is none.
pub fn file(path: &str) -> Option<PageFile> {
    let text = |media_type, text: &str| Some(PageFile { media_type, bytes: text.as_bytes().to_vec() });
    let script = "text/javascript; charset=utf-8";
    match path {
        "/" => text("text/html; charset=utf-8", &framed(include_str!("page/page.html"))),
        "/icon.svg" => text("image/svg+xml", include_str!("page/icon.svg")),
        "/look.css" => text("text/css; charset=utf-8", frame::STYLE),
        "/page.css" => text("text/css; charset=utf-8", include_str!("page/page.css")),
        "/shared.js" => text(script, &format!("{}\nexport {{ {} }};\n", frame::SCRIPT, exported().join(", "))),
        _ => {
            let name = path.strip_prefix('/')?;
            text(script, MODULES.iter().find(|(module, _)| *module == name)?.1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_a_file_of_the_page_names_is_there() {
        let page = String::from_utf8(file("/").unwrap().bytes).unwrap();
        let named: Vec<&str> = page.split(['"']).filter(|text| text.starts_with("./") && text.contains('.')).collect();
        assert!(named.len() >= 3, "{named:?}");
        for name in named {
            assert!(file(&name[1..]).is_some(), "{name}");
        }
        for (module, text) in MODULES {
            for import in text.split("from \"./").skip(1).filter_map(|rest| rest.split('"').next()) {
                assert!(file(&format!("/{import}")).is_some(), "{module} imports {import}");
            }
        }
        assert!(file("/nothing.js").is_none() && file("/../mod.rs").is_none());
    }

    #[test]
    fn the_page_has_no_script_or_style_that_its_policy_forbids() {
        let page = String::from_utf8(file("/").unwrap().bytes).unwrap();
        let handlers = regex::Regex::new(r"\son[a-z]+=|\sstyle=|<style").unwrap();
        assert!(!handlers.is_match(&page), "code or style in the page itself");
        assert_eq!(page.matches("<script").count(), page.matches("<script type=\"module\" src=").count());
    }
}
