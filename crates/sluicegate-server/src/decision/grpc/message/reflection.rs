//! `grpc.reflection.v1`, and `v1alpha`, which looks the same.

use bytes::Bytes;
use prost::Message;

#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct Asked {
    #[prost(string, tag = "1")]
    pub(in super::super) host: String,
    #[prost(oneof = "Question", tags = "3, 4, 5, 6, 7")]
    pub(in super::super) question: Option<Question>,
}

#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub(in super::super) enum Question {
    #[prost(string, tag = "3")]
    FileByName(String),
    #[prost(string, tag = "4")]
    FileWithSymbol(String),
    #[prost(message, tag = "5")]
    FileWithExtension(Extension),
    #[prost(string, tag = "6")]
    ExtensionNumbers(String),
    #[prost(string, tag = "7")]
    Services(String),
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct Extension {
    #[prost(string, tag = "1")]
    pub(in super::super) containing_type: String,
    #[prost(int32, tag = "2")]
    pub(in super::super) number: i32,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct Answered {
    #[prost(string, tag = "1")]
    pub(in super::super) valid_host: String,
    #[prost(message, optional, tag = "2")]
    pub(in super::super) original_request: Option<Asked>,
    #[prost(oneof = "Answer", tags = "4, 6, 7")]
    pub(in super::super) answer: Option<Answer>,
}

#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub(in super::super) enum Answer {
    #[prost(message, tag = "4")]
    Files(Files),
    #[prost(message, tag = "6")]
    Services(Services),
    #[prost(message, tag = "7")]
    Error(Failure),
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct Files {
    /// Each as it was compiled.
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub(in super::super) file: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct Services {
    #[prost(message, repeated, tag = "1")]
    pub(in super::super) service: Vec<Service>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct Service {
    #[prost(string, tag = "1")]
    pub(in super::super) name: String,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(in super::super) struct Failure {
    #[prost(int32, tag = "1")]
    pub(in super::super) code: i32,
    #[prost(string, tag = "2")]
    pub(in super::super) message: String,
}
