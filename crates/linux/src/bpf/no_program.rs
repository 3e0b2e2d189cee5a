//! The stand-in for the program in a build without it.

use super::{Chosen, ProcessDetail, ProcessSlot, Refusal, Room, ThreadSlot, Wants};
use crate::root::ProcRoot;
use std::convert::Infallible;

/// The stand-in for the BPF program, of which no value exists: loading it always fails.
pub(crate) struct Program(Infallible);

impl Program {
    pub(crate) fn load(_: &ProcRoot, _: Room, _: bool) -> Result<Self, Refusal> {
        let why = match cfg!(feature = "bpf") {
            true if cfg!(target_pointer_width = "64") => "perfhive was built without clang",
            true => "takes a machine of 64 bits",
            false => "perfhive was built without the feature bpf",
        };
        Err(Refusal::new(why))
    }

    pub(crate) fn run(&mut self, _: Wants, _: u32, _: Option<&Chosen>) -> Result<Room, Refusal> {
        match self.0 {}
    }

    pub(crate) fn room(&self) -> Room {
        match self.0 {}
    }

    pub(crate) fn processes(&self) -> &[ProcessSlot] {
        match self.0 {}
    }

    pub(crate) fn moved(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn details(&self) -> &[ProcessDetail] {
        match self.0 {}
    }

    pub(crate) fn threads(&self) -> &[ThreadSlot] {
        match self.0 {}
    }
}

pub(crate) fn may_go_on() -> Result<(), Refusal> {
    Ok(())
}
