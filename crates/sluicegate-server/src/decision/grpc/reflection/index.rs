//! Where the names lie that can be asked for: what is compiled in, read once.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message;

/// All files as the compiler left them.
const COMPILED: &[u8] = include_bytes!("../../../../proto/descriptors.bin");

/// Files by their names, and by the names in them.
#[derive(Debug, Default)]
pub(super) struct Index {
    files: BTreeMap<String, Bytes>,
    symbols: BTreeMap<String, Bytes>,
    services: Vec<String>,
}

impl Index {
    /// The index of what is compiled in. A test holds that it can be read; if not, it is empty.
    pub(super) fn compiled() -> Self {
        let mut index = Self::default();
        let set = FileSet::decode(Bytes::from_static(COMPILED)).unwrap_or_default();
        for bytes in set.file {
            if let Ok(file) = File::decode(bytes.clone()) {
                index.add(&file, &bytes);
            }
        }
        index
    }

    pub(super) fn by_name(&self, name: &str) -> Option<&Bytes> {
        self.files.get(name)
    }

    /// The file of a message, an enumeration, a service or a method.
    pub(super) fn by_symbol(&self, symbol: &str) -> Option<&Bytes> {
        self.symbols.get(symbol)
    }

    pub(super) fn services(&self) -> impl Iterator<Item = &str> {
        self.services.iter().map(String::as_str)
    }

    fn add(&mut self, file: &File, bytes: &Bytes) {
        self.files.insert(file.name.clone(), bytes.clone());
        self.add_messages(&file.package, &file.message_type, bytes);
        self.add_names(&file.package, &file.enum_type, bytes);
        for service in &file.service {
            let name = self.add_symbol(&file.package, &service.name, bytes);
            self.add_names(&name, &service.method, bytes);
            self.services.push(name);
        }
    }

    fn add_messages(&mut self, scope: &str, messages: &[MessageType], bytes: &Bytes) {
        for message in messages {
            let name = self.add_symbol(scope, &message.name, bytes);
            self.add_messages(&name, &message.nested_type, bytes);
            self.add_names(&name, &message.enum_type, bytes);
        }
    }

    fn add_names(&mut self, scope: &str, names: &[Name], bytes: &Bytes) {
        for Name { name } in names {
            self.add_symbol(scope, name, bytes);
        }
    }

    fn add_symbol(&mut self, scope: &str, name: &str, bytes: &Bytes) -> String {
        let name = if scope.is_empty() { name.to_owned() } else { format!("{scope}.{name}") };
        self.symbols.insert(name.clone(), bytes.clone());
        name
    }
}

/// `google.protobuf.FileDescriptorSet`, with its files as they are.
#[derive(Clone, PartialEq, Eq, Message)]
struct FileSet {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    file: Vec<Bytes>,
}

/// `google.protobuf.FileDescriptorProto`, as far as it names things.
#[derive(Clone, PartialEq, Eq, Message)]
struct File {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    package: String,
    #[prost(message, repeated, tag = "4")]
    message_type: Vec<MessageType>,
    #[prost(message, repeated, tag = "5")]
    enum_type: Vec<Name>,
    #[prost(message, repeated, tag = "6")]
    service: Vec<ServiceType>,
}

#[derive(Clone, PartialEq, Eq, Message)]
struct MessageType {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, repeated, tag = "3")]
    nested_type: Vec<MessageType>,
    #[prost(message, repeated, tag = "4")]
    enum_type: Vec<Name>,
}

#[derive(Clone, PartialEq, Eq, Message)]
struct ServiceType {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, repeated, tag = "2")]
    method: Vec<Name>,
}

/// An enumeration or a method.
#[derive(Clone, PartialEq, Eq, Message)]
struct Name {
    #[prost(string, tag = "1")]
    name: String,
}
