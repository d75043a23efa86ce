//! `grpc.reflection.v1.ServerReflection`, and the same as `v1alpha`: people with a tool find out what can be called.

mod index;

use std::sync::LazyLock;

use bytes::Bytes;
use http_body::Body;
use tokio::sync::mpsc;

use super::super::reply_body::{Part, ReplyBody};
use super::frame::{self, Messages};
use super::message::reflection::{Answer, Answered, Asked, Failure, Files, Question, Service, Services};
use super::status::{Code, Status};
use super::{Reply, draining, reply};
use crate::listen::Peer;
use index::Index;

/// The paths of the call.
pub(super) const INFO_V1: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
pub(super) const INFO_V1_ALPHA: &str = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

/// How many answers wait for whoever asks. Until it has taken some, no more questions are read.
const ANSWERS_MAX: usize = 4;

static INDEX: LazyLock<Index> = LazyLock::new(Index::compiled);

/// Answers questions for as long as some come.
pub(super) fn info<B>(body: B, peer: Option<&Peer>) -> Reply
where
    B: Body<Data = Bytes, Error: Send> + Unpin + Send + 'static,
{
    let (parts, sent) = mpsc::channel(ANSWERS_MAX);
    let peer = peer.cloned();
    tokio::spawn(async move {
        let status = tokio::select! {
            answered = answer_all(Messages::new(body), &parts) => match answered {
                Ok(()) => return,
                Err(status) => status,
            },
            () = draining(peer.as_ref()) => Status::new(Code::Unavailable, "the server ends"),
        };
        let _ = parts.send(Part::End(status.code().number())).await;
    });
    reply(ReplyBody::stream(sent))
}

async fn answer_all<B>(mut questions: Messages<B>, parts: &mpsc::Sender<Part>) -> Result<(), Status>
where
    B: Body<Data = Bytes> + Unpin,
{
    while let Some(question) = questions.next().await? {
        let answered = answer(&INDEX, frame::decoded(question)?);
        if parts.send(Part::Message(frame::framed(&answered))).await.is_err() {
            break;
        }
    }
    Ok(())
}

fn answer(index: &Index, asked: Asked) -> Answered {
    let answer = match &asked.question {
        Some(Question::FileByName(name)) => file(index.by_name(name), "file", name),
        Some(Question::FileWithSymbol(symbol)) => file(index.by_symbol(symbol), "symbol", symbol),
        Some(Question::FileWithExtension(extension)) => {
            file(None, "extension of", &extension.containing_type)
        }
        Some(Question::ExtensionNumbers(name)) => file(None, "extension of", name),
        Some(Question::Services(_)) => Answer::Services(Services {
            service: index.services().map(|name| Service { name: name.to_owned() }).collect(),
        }),
        None => failure(Code::InvalidArgument, "nothing was asked".to_owned()),
    };
    Answered { valid_host: asked.host.clone(), original_request: Some(asked), answer: Some(answer) }
}

fn file(found: Option<&Bytes>, what: &str, name: &str) -> Answer {
    match found {
        Some(file) => Answer::Files(Files { file: vec![file.clone()] }),
        None => failure(Code::NotFound, format!("there is no {what} {name} here")),
    }
}

fn failure(code: Code, message: String) -> Answer {
    Answer::Error(Failure { code: code.number().into(), message })
}
