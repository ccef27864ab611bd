//! The link to the control room.

/// The seconds of silence after which the pump house goes on by its own limits.
pub const LINK_TIMEOUT_S: u32 = 120;

/// Counts the silence of the control room.
pub struct Watchdog {
    silent_s: u32,
}

impl Watchdog {
    /// A watchdog that has just heard something.
    pub fn new() -> Watchdog {
        Watchdog { silent_s: 0 }
    }

    /// A second has passed without a message.
    pub fn tick(&mut self) {
        self.silent_s = self.silent_s.saturating_add(1);
    }

    /// A message came.
    pub fn heard(&mut self) {
        self.silent_s = 0;
    }

    /// Whether the pump house goes on by its own limits.
    pub fn is_alone(&self) -> bool {
        self.silent_s >= LINK_TIMEOUT_S
    }
}
