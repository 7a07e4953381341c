//! Theme files: what each role looks like.
//!
//! ```toml
//! name = "mine"
//!
//! [colours]                    # named here, used below; one value for each kind of terminal
//! ember = { rgb = "#f26b3a", ansi256 = 203, ansi16 = "light-red" }
//!
//! [roles]
//! "status.error" = { fg = "ember", bold = true }
//! ```
//!
//! A file is patched over the default theme: a colour of the same name replaces the
//! default's wherever it is used, a role replaces the default's role as a whole. Nothing is
//! ignored: an unknown key, role or colour is an error that says where and what is allowed.

use std::collections::BTreeMap;

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;
use toml::Spanned;

use super::palette::{Level, NAMES, Paint, nearest_256, parse_rgb};
use super::{LookError, Role};

/// The built-in themes: name and file.
pub const THEMES: [(&str, &str); 5] = [
    ("default", include_str!("../../../themes/default.toml")),
    ("light", include_str!("../../../themes/light.toml")),
    ("high-contrast", include_str!("../../../themes/high-contrast.toml")),
    ("colour-blind", include_str!("../../../themes/colour-blind.toml")),
    ("mono", include_str!("../../../themes/mono.toml")),
];

/// Every role's style, for every kind of terminal.
#[derive(Debug, Clone)]
pub struct Theme {
    name: String,
    colours: BTreeMap<String, Paint>,
    roles: BTreeMap<Role, RoleStyle>,
}

/// A role's style, with colours still by name.
#[derive(Debug, Clone, Default)]
struct RoleStyle {
    fg: Option<String>,
    bg: Option<String>,
    modifiers: Modifier,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTheme {
    name: String,
    #[serde(default)]
    colours: BTreeMap<String, Spanned<RawColour>>,
    #[serde(default)]
    roles: BTreeMap<String, Spanned<RawStyle>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawColour {
    rgb: String,
    ansi256: Option<u8>,
    ansi16: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "it is the file's format")]
struct RawStyle {
    fg: Option<String>,
    bg: Option<String>,
    #[serde(default)]
    bold: bool,
    #[serde(default)]
    dim: bool,
    #[serde(default)]
    italic: bool,
    #[serde(default)]
    underlined: bool,
    #[serde(default)]
    reversed: bool,
}

impl RawStyle {
    fn modifiers(&self) -> Modifier {
        let mut modifiers = Modifier::empty();
        modifiers.set(Modifier::BOLD, self.bold);
        modifiers.set(Modifier::DIM, self.dim);
        modifiers.set(Modifier::ITALIC, self.italic);
        modifiers.set(Modifier::UNDERLINED, self.underlined);
        modifiers.set(Modifier::REVERSED, self.reversed);
        modifiers
    }
}

/// A file being read, for messages that say where.
struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn error(&self, at: usize, message: String) -> LookError {
        let before = self.text.as_bytes().iter().take(at);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        LookError::Invalid { file: self.file.to_owned(), line, message }
    }
}

impl Theme {
    /// A theme that comes with the program.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn built_in(name: &str) -> Result<Self, LookError> {
        let Some((name, text)) = THEMES.iter().find(|(known, _)| *known == name) else {
            let known = THEMES.iter().map(|(known, _)| *known).collect();
            return Err(LookError::NoSuchTheme { name: name.to_owned(), known });
        };
        Self::parse(&format!("themes/{name}.toml"), text)
    }

    /// Reads the text of a theme file and patches it over the default theme.
    ///
    /// # Errors
    /// When the text is not TOML or names a key, role or colour that does not exist.
    pub fn parse(file: &str, text: &str) -> Result<Self, LookError> {
        let mut theme = Self::empty();
        if let Some((_, default)) = THEMES.first() {
            theme.patch(&Source { file: "themes/default.toml", text: default })?;
        }
        theme.patch(&Source { file, text })?;
        Ok(theme)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Every role's style on a terminal of that level.
    pub(super) fn styles(&self, level: Level) -> [Style; Role::ALL.len()] {
        Role::ALL.map(|role| {
            self.roles.get(&role).map_or_else(Style::default, |style| Style {
                fg: style.fg.as_deref().map(|name| self.colour(name, level)),
                bg: style.bg.as_deref().map(|name| self.colour(name, level)),
                add_modifier: style.modifiers,
                ..Style::default()
            })
        })
    }

    fn empty() -> Self {
        let colours =
            NAMES.iter().map(|(name, colour)| ((*name).to_owned(), Paint::plain(*colour)));
        Self { name: String::new(), colours: colours.collect(), roles: BTreeMap::new() }
    }

    fn colour(&self, name: &str, level: Level) -> Color {
        self.colours.get(name).map_or(Color::Reset, |paint| paint.at(level))
    }

    fn patch(&mut self, source: &Source<'_>) -> Result<(), LookError> {
        let raw: RawTheme = toml::from_str(source.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            source.error(at, error.message().trim().to_owned())
        })?;
        for (name, colour) in raw.colours {
            let paint = paint(source, &name, &colour)?;
            self.colours.insert(name, paint);
        }
        for (name, style) in raw.roles {
            let (role, style) = self.role(source, &name, &style)?;
            self.roles.insert(role, style);
        }
        self.name = raw.name;
        Ok(())
    }

    fn role(
        &self,
        source: &Source<'_>,
        name: &str,
        style: &Spanned<RawStyle>,
    ) -> Result<(Role, RoleStyle), LookError> {
        let at = style.span().start;
        let role = Role::named(name).ok_or_else(|| {
            let known = join(Role::ALL.iter().map(|role| role.name()));
            source.error(at, format!("there is no role {name:?}; roles: {known}"))
        })?;
        let style = style.get_ref();
        for (key, colour) in [("fg", &style.fg), ("bg", &style.bg)] {
            if let Some(colour) = colour.as_deref().filter(|name| !self.colours.contains_key(*name))
            {
                let known = join(self.colours.keys().map(String::as_str));
                let message = format!(
                    "role {name:?}: {key} = {colour:?} is not a colour; colours: {known}; \
                     or name one under [colours]"
                );
                return Err(source.error(at, message));
            }
        }
        let modifiers = style.modifiers();
        Ok((role, RoleStyle { fg: style.fg.clone(), bg: style.bg.clone(), modifiers }))
    }
}

fn paint(source: &Source<'_>, name: &str, colour: &Spanned<RawColour>) -> Result<Paint, LookError> {
    let at = colour.span().start;
    let colour = colour.get_ref();
    let rgb @ (r, g, b) = parse_rgb(&colour.rgb).ok_or_else(|| {
        let value = &colour.rgb;
        source.error(at, format!("colour {name:?}: rgb = {value:?} is not of the form \"#rrggbb\""))
    })?;
    let ansi16 = NAMES.iter().find(|(known, _)| *known == colour.ansi16).ok_or_else(|| {
        let (value, known) = (&colour.ansi16, join(NAMES.iter().map(|(known, _)| *known)));
        source.error(at, format!("colour {name:?}: ansi16 = {value:?} is not one of: {known}"))
    })?;
    Ok(Paint {
        ansi16: ansi16.1,
        ansi256: colour.ansi256.map_or_else(|| nearest_256(rgb), Color::Indexed),
        rgb: Color::Rgb(r, g, b),
    })
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        Theme::parse("mine.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn every_built_in_theme_is_valid_and_named_after_its_file() {
        for (name, _) in THEMES {
            assert_eq!(Theme::built_in(name).unwrap().name(), name);
        }
    }

    #[test]
    fn the_default_theme_and_mono_style_every_role() {
        for name in ["default", "mono"] {
            let (_, text) = THEMES.iter().find(|(known, _)| *known == name).unwrap();
            for role in Role::ALL {
                assert!(text.contains(&format!("\"{role}\"")), "{role} in {name}");
            }
        }
    }

    #[test]
    fn the_mono_theme_uses_modifiers_only() {
        for style in Theme::built_in("mono").unwrap().styles(Level::Rgb) {
            assert!(style.fg.unwrap_or(Color::Reset) == Color::Reset);
            assert!(style.bg.unwrap_or(Color::Reset) == Color::Reset);
        }
    }

    #[test]
    fn a_theme_is_patched_over_the_default() {
        let text = "name = \"mine\"\n[roles]\n\"text.muted\" = { fg = \"red\", bold = true }\n";
        let mine = Theme::parse("mine.toml", text).unwrap().styles(Level::Ansi16);
        let default = Theme::built_in("default").unwrap().styles(Level::Ansi16);
        assert_eq!(mine[Role::Muted as usize].fg, Some(Color::Red));
        assert_eq!(mine[Role::Error as usize], default[Role::Error as usize]);
    }

    #[test]
    fn mistakes_are_refused_with_place_and_choice() {
        let role = message("name = \"m\"\n\n[roles]\n\"text.mutd\" = { fg = \"red\" }\n");
        assert!(
            role.starts_with("mine.toml:4: there is no role \"text.mutd\"; roles: text,"),
            "{role}"
        );
        let colour = message("name = \"m\"\n[roles]\ntext = { fg = \"rad\" }\n");
        assert!(
            colour.starts_with("mine.toml:3: role \"text\": fg = \"rad\" is not a colour"),
            "{colour}"
        );
        let key = message("name = \"m\"\n[roles]\ntext = { fgg = \"red\" }\n");
        assert!(key.starts_with("mine.toml:3: unknown field `fgg`, expected one of `fg`"), "{key}");
        let rgb = message("name = \"m\"\n[colours]\nx = { rgb = \"red\", ansi16 = \"red\" }\n");
        assert!(rgb.starts_with("mine.toml:3: colour \"x\": rgb = \"red\" is not"), "{rgb}");
        let named = message("name = \"m\"\n[colours]\nx = { rgb = \"#ff0000\", ansi16 = \"r\" }\n");
        assert!(named.contains("ansi16 = \"r\" is not one of: default, black"), "{named}");
        let key = message("name = \"m\"\ncolors = {}\n");
        assert!(key.contains("unknown field `colors`, expected one of `name`"), "{key}");
    }
}
