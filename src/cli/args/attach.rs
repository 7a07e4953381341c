//! The options that say where a running query tells of itself.

use std::path::PathBuf;

use clap::Args;

use crate::telemetry::ui::{Address, AddressError, Credentials};

/// Where the running query tells of itself.
#[expect(clippy::doc_markdown, reason = "it is the text of the help")]
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Running query")]
pub(crate) struct AttachArgs {
    /// Attach to the running query by Spark's event log; may be given several times
    ///
    /// A file, the folder of a rolling log, or a folder of logs. Tells batches and what the tasks
    /// of each partition do. It is followed while it grows, and waited for where it is not there.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) events: Vec<String>,
    /// Attach by progress JSON or a driver's log, `-` for standard input; may be given several
    /// times
    #[arg(long, value_name = "SOURCE")]
    pub(crate) progress: Vec<String>,
    /// Attach by the Spark UI of the running application, such as http://host:4040
    ///
    /// Tells batches and what arrives at each partition, without any change to the job; not the
    /// watermark, and not the rows of each partition. Prefixes of gateways, addresses copied out of
    /// a browser, and applications of a history server (http://host:18080/history/APP) work too.
    #[arg(long, value_name = "URL", value_parser = ui_address)]
    pub(crate) ui: Option<String>,
    /// Of several queries in these sources show only this one
    ///
    /// By its name, id or run id. Needed where the checkpoint's own id cannot be read.
    #[arg(long, value_name = "ID|NAME")]
    pub(crate) query: Option<String>,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
}

/// Where the token for a Spark UI is. Never on the command line, which others can see.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
pub(crate) struct TokenArgs {
    /// Take the token for the Spark UI from this environment variable
    ///
    /// One word is sent as `Authorization: Bearer`; lines such as `Cookie: a=b` are sent as headers.
    #[arg(long, value_name = "NAME", conflicts_with = "ui_token_file")]
    pub(crate) ui_token_env: Option<String>,
    /// Take the token for the Spark UI from this file, which is read anew for each connection
    #[arg(long, value_name = "FILE")]
    pub(crate) ui_token_file: Option<PathBuf>,
}

impl TokenArgs {
    /// What is to be shown to the Spark UI.
    pub(crate) fn credentials(&self) -> Credentials {
        credentials(self.ui_token_env.as_ref(), self.ui_token_file.as_ref())
    }
}

/// A token in a variable or a file, as the command line or the configuration names them.
pub(crate) fn credentials(variable: Option<&String>, file: Option<&PathBuf>) -> Credentials {
    match (variable, file) {
        (Some(name), _) => Credentials::Variable(name.clone()),
        (None, Some(path)) => Credentials::File(path.clone()),
        (None, None) => Credentials::None,
    }
}

fn ui_address(text: &str) -> Result<String, AddressError> {
    Address::parse(text).map(|_| text.to_owned())
}

impl AttachArgs {
    /// Whether anything is to be attached.
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.progress.is_empty() && self.ui.is_none()
    }
}
