//! What happens again and again while there are dialogues.

use super::dialogues::Dialogues;
use crate::engine::{Engine, TICK, Upkeep};
use crate::server::Setting;
use xtasking::Context;

/// Ticks between two looks for idle clients.
const IDLE_TICKS: u32 = 100;

struct Ticker {
    upkeep: Upkeep,
    dialogues: Dialogues,
}

impl Dialogues {
    /// Starts a timer that does the work of [`Engine::start_upkeep`], and ends the dialogues of
    /// clients that have sent nothing for as long as the setting `timeout` says. When the runtime
    /// ends, it [forgets all hosts](Self::forget_all). It is to be started once.
    pub fn start_upkeep(&self, engine: &Engine) {
        let ticker = Ticker { upkeep: Upkeep::new(engine.clone()), dialogues: self.clone() };
        engine.runtime().timer(TICK, |cx| ticker.tick(cx));
    }
}

impl Drop for Ticker {
    /// The runtime has begun to end, and drops its timers: nothing serves the dialogues any more.
    fn drop(&mut self) {
        self.dialogues.forget_all();
    }
}

impl Ticker {
    fn tick(mut self, cx: &mut Context) {
        let rt = cx.handle();
        self.upkeep.tick(&rt);
        let engine = self.upkeep.engine();
        let timeout = engine.server().settings.number(Setting::Timeout) as u64;
        if timeout > 0 && self.upkeep.is_each(IDLE_TICKS) {
            self.dialogues.end_idle(&rt, engine.now().saturating_sub(timeout * 1000));
        }
        cx.timer(TICK, |cx| self.tick(cx));
    }
}
