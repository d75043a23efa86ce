//! How a proxy is started from its example, and in what it differs from the others.

use std::path::Path;

use sluicegate_testkit::proxies::ProxyProgram;

/// A proxy and its example.
pub(crate) struct Recipe {
    pub(crate) program: ProxyProgram,
    /// Its files, from `examples/` on.
    pub(crate) files: &'static [&'static str],
    /// What has to be different because the proxy runs in a test, besides the ports. The number is one that no other
    /// test has.
    pub(crate) adapt: fn(String, u16) -> String,
    /// What its file says to change for letting everybody pass while Sluicegate cannot be reached: this, to that.
    pub(crate) open: (&'static str, &'static str),
    pub(crate) limits: Limits,
    /// What callers get while Sluicegate cannot be reached.
    pub(crate) unreachable: &'static [u16],
}

/// Who learns what is left of the limits when a request was admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Limits {
    /// The caller, with the answer of the API.
    ToTheCaller,
    /// The API, with the request: the proxy has no way to the caller.
    ToTheApi,
}

/// The ports in the examples, and those of a test.
pub(crate) struct Ports {
    /// Where callers connect.
    pub(crate) callers: u16,
    /// Where Sluicegate decides.
    pub(crate) decision: u16,
    /// Where the API is.
    pub(crate) api: u16,
    /// Where a proxy asks itself, if it does.
    pub(crate) questions: u16,
}

impl Recipe {
    /// Its files as they stand in `examples/`: name and text.
    pub(crate) fn examples(&self) -> Vec<(String, String)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        let read = |file: &&str| {
            let path = folder.join(file);
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        };
        self.files.iter().map(read).collect()
    }

    /// The same for a test: the first is the one that the proxy is started with, whatever the example is called.
    pub(crate) fn for_test(&self, ports: &Ports) -> Vec<(String, String)> {
        let adapt = |text: String| (self.adapt)(ports.put_into(&text), ports.callers);
        let mut files: Vec<_> = self.examples().into_iter().map(|(name, text)| (name, adapt(text))).collect();
        self.program.configuration().clone_into(&mut files[0].0);
        files
    }

    /// The files, changed as they say so that everybody passes while Sluicegate cannot be reached.
    pub(crate) fn opened(&self, files: Vec<(String, String)>) -> Vec<(String, String)> {
        let (from, to) = self.open;
        let found = files.iter().filter(|(_, text)| text.contains(from)).count();
        assert_eq!(found, 1, "one of {:?} says {from:?}", self.files);
        files.into_iter().map(|(name, text)| (name, text.replace(from, to))).collect()
    }
}

impl Ports {
    /// The text with these in place of the numbers that all examples have.
    fn put_into(&self, text: &str) -> String {
        let mut changed = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(|it: char| it.is_ascii_digit()) {
            let (before, number) = rest.split_at(start);
            let end = number.find(|it: char| !it.is_ascii_digit()).unwrap_or(number.len());
            let (number, behind) = number.split_at(end);
            changed.push_str(before);
            match number {
                "8000" => changed.push_str(&self.callers.to_string()),
                "8081" => changed.push_str(&self.decision.to_string()),
                "9000" => changed.push_str(&self.api.to_string()),
                "8089" => changed.push_str(&self.questions.to_string()),
                _ => changed.push_str(number),
            }
            rest = behind;
        }
        changed + rest
    }
}

#[test]
fn only_whole_numbers_are_ports() {
    let ports = Ports { callers: 1, decision: 8_000, api: 9_000, questions: 4 };
    assert_eq!(ports.put_into("a:8000 b=8081; 80001 x9000/ 8089"), "a:1 b=8000; 80001 x9000/ 4");
}
