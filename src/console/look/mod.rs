//! Look = theme × palette level × charset.
//!
//! ```text
//!  view ── Role ──> Look ── Style ──> cells        themes/*.toml: what a role looks like
//!       ── text ──>      ── text  ──>              Level: how many colours the terminal has
//!                                                  Charset: UTF-8 or ASCII
//! ```
//!
//! Views name what something *is* ([`Role`]); only this module knows colours. The terminal
//! is asked nothing: the environment and flags decide ([`Environment`]), because answers to
//! queries come late or never over SSH and tmux.

mod charset;
mod palette;
mod role;
mod theme;

use std::path::{Path, PathBuf};

use ratatui::style::{Color, Style};

pub use charset::{Charset, Symbols};
pub use palette::Level;
pub use role::{HEAT_STEPS, Role};
pub use theme::{THEMES, Theme};

/// Why a look cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    /// Neither the name of a built-in theme, nor of one in the themes folder, nor a file.
    #[error("there is no theme {name:?}; built in: {}; or give the path of a .toml file", known.join(", "))]
    NoSuchTheme {
        /// As asked for.
        name: String,
        /// The built-in names.
        known: Vec<&'static str>,
    },
    /// The theme's file cannot be read.
    #[error("cannot read the theme {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The theme's file says something that means nothing.
    #[error("{file}:{line}: {message}")]
    Invalid {
        /// The file, as named by the operator.
        file: String,
        /// Counted from 1.
        line: usize,
        /// Key, value, and what is allowed.
        message: String,
    },
}

/// What the operator asked for; everything left out is decided by the environment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LookOptions {
    /// Name of a theme, or path of its file; `None` for `default`.
    pub theme: Option<String>,
    /// Folder with more themes, `NAME.toml` each.
    pub themes_folder: Option<PathBuf>,
    /// How many colours to use.
    pub level: Option<Level>,
    /// Which characters to draw with.
    pub charset: Option<Charset>,
}

/// What the environment says about the terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    /// `NO_COLOR`; any value but the empty one counts.
    pub no_color: Option<String>,
    /// `COLORTERM`.
    pub colorterm: Option<String>,
    /// `TERM`.
    pub term: Option<String>,
    /// The first that is set and not empty of `LC_ALL`, `LC_CTYPE` and `LANG`.
    pub locale: Option<String>,
}

impl Environment {
    /// The environment of this process.
    pub fn read() -> Self {
        let var = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            no_color: var("NO_COLOR"),
            colorterm: var("COLORTERM"),
            term: var("TERM"),
            locale: ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(var),
        }
    }
}

/// What every role looks like on this terminal.
#[derive(Debug, Clone)]
pub struct Look {
    styles: [Style; Role::ALL.len()],
    charset: Charset,
}

impl Look {
    /// The look that the operator asked for, on the terminal that the environment describes.
    ///
    /// # Errors
    /// When the theme does not exist or is not valid.
    pub fn load(options: &LookOptions, environment: &Environment) -> Result<Self, LookError> {
        let level = options.level.unwrap_or_else(|| Level::of(environment));
        let charset = options.charset.unwrap_or_else(|| Charset::of(environment));
        let name = options.theme.as_deref().unwrap_or("default");
        let theme = load_theme(name, options.themes_folder.as_deref())?;
        Self::new(&theme, level, charset)
    }

    /// Joins the three parts.
    ///
    /// # Errors
    /// Never for the built-in themes.
    pub fn new(theme: &Theme, level: Level, charset: Charset) -> Result<Self, LookError> {
        // Without colours a theme that tells things apart by colour tells nothing apart.
        let styles = match level {
            Level::Mono => Theme::built_in("mono")?.styles(level),
            _ => theme.styles(level),
        };
        Ok(Self { styles, charset })
    }

    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        self.styles.get(role as usize).copied().unwrap_or_default()
    }

    /// The characters to draw with.
    pub fn symbols(&self) -> &'static Symbols {
        self.charset.symbols()
    }

    /// Which characters the terminal can show.
    pub fn charset(&self) -> Charset {
        self.charset
    }

    /// Roles with this style, for tests that show which role covers which cell.
    pub fn roles_of(&self, fg: Color, bg: Color) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| {
            let style = self.style(*role);
            style.fg.unwrap_or(Color::Reset) == fg && style.bg.unwrap_or(Color::Reset) == bg
        })
    }
}

fn load_theme(name: &str, folder: Option<&Path>) -> Result<Theme, LookError> {
    if THEMES.iter().any(|(known, _)| *known == name) {
        return Theme::built_in(name);
    }
    let in_folder = folder.map(|folder| folder.join(format!("{name}.toml")));
    let path = match in_folder {
        Some(path) if !is_path(name) && path.is_file() => path,
        _ if is_path(name) => PathBuf::from(name),
        _ => {
            let known = THEMES.iter().map(|(known, _)| *known).collect();
            return Err(LookError::NoSuchTheme { name: name.to_owned(), known });
        }
    };
    let text = std::fs::read_to_string(&path)
        .map_err(|source| LookError::Unreadable { path: path.clone(), source })?;
    Theme::parse(&path.display().to_string(), &text)
}

fn is_path(name: &str) -> bool {
    name.contains(std::path::is_separator)
        || Path::new(name).extension().is_some_and(|end| end == "toml")
}
