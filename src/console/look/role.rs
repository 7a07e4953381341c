//! What a run of text or a cell stands for. Views speak only in these.

use std::fmt;

/// How many steps the heat scale has.
pub const HEAT_STEPS: usize = 8;

macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident = $name:literal,)*) => {
        /// What something on the screen stands for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Role {
            $($(#[$doc])* $role,)*
        }

        impl Role {
            /// Every role.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$role),*];

            /// Its name in theme files.
            pub fn name(self) -> &'static str {
                match self { $(Self::$role => $name,)* }
            }
        }
    };
}

roles! {
    /// Ordinary text, and the ground that everything is painted on.
    Text = "text",
    /// Labels, units, things of less weight.
    Muted = "text.muted",
    /// Headings and the numbers that matter.
    Strong = "text.strong",
    /// The target's name in the header.
    Title = "title",
    /// Lines and boxes.
    Border = "border",
    /// The box that has the keys.
    BorderFocus = "border.focus",
    /// A key to press.
    Key = "key",
    /// A screen that is not shown.
    Tab = "tab",
    /// The screen that is shown.
    TabActive = "tab.active",
    /// The selected line of the list that has the keys.
    Selection = "selection",
    /// The selected line of the other list.
    SelectionIdle = "selection.idle",
    /// The selected cell of the heatmap; laid over the cell's own role.
    Cursor = "cursor",
    /// All is well.
    Ok = "status.ok",
    /// Worth knowing.
    Info = "status.info",
    /// Will hurt under a condition.
    Warning = "status.warning",
    /// Something is broken.
    Error = "status.error",
    /// The screen follows the checkpoint.
    Live = "state.live",
    /// The screen is held by the operator.
    Paused = "state.paused",
    /// The data is older than it should be.
    Stale = "state.stale",
    /// Laid over a panel whose data is stale.
    Dimmed = "dimmed",
    /// Changed since the observation before; laid over the cell's own role.
    Changed = "changed",
    /// Bars of shares.
    Bar = "bar",
    /// What is being typed.
    Input = "input",
    /// A batch's own work.
    PhaseExecute = "phase.execute",
    /// Planning of a batch.
    PhasePlan = "phase.plan",
    /// Asking the sources of a query.
    PhaseSources = "phase.sources",
    /// Writing the logs of a checkpoint.
    PhaseLogs = "phase.logs",
    /// A control batch within a trigger.
    PhaseControl = "phase.control",
    /// What no phase of a batch accounts for.
    PhaseOther = "phase.other",
    /// A partition without rows.
    HeatEmpty = "heat.empty",
    /// A partition whose value is not known.
    HeatUnknown = "heat.unknown",
    /// The coolest step.
    Heat1 = "heat.1",
    /// Step 2.
    Heat2 = "heat.2",
    /// Step 3.
    Heat3 = "heat.3",
    /// Step 4.
    Heat4 = "heat.4",
    /// Step 5.
    Heat5 = "heat.5",
    /// Step 6.
    Heat6 = "heat.6",
    /// Step 7.
    Heat7 = "heat.7",
    /// The hottest step.
    Heat8 = "heat.8",
}

impl Role {
    /// The heat scale from cool to hot.
    pub const HEAT: [Self; HEAT_STEPS] = [
        Self::Heat1,
        Self::Heat2,
        Self::Heat3,
        Self::Heat4,
        Self::Heat5,
        Self::Heat6,
        Self::Heat7,
        Self::Heat8,
    ];

    /// The role of a step of the heat scale; the hottest for steps beyond it.
    pub fn heat(step: usize) -> Self {
        Self::HEAT.get(step).copied().unwrap_or(Self::Heat8)
    }

    /// The role of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
