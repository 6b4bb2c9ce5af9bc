// SPDX-License-Identifier: MIT
//! Settings and other values by name, with types.
//!
//! A name is one of mallctl's. The constants here are those that programs want most; any other name is
//! `Setting::<i64>::named(c"...")`.

use crate::{checked, sys, Error};
use core::ffi::CStr;
use core::marker::PhantomData;

/// A value of hew's with the type that it is read and written as: `i64`, `bool` or `&'static CStr`.
#[derive(Clone, Copy, Debug)]
pub struct Setting<T> {
    name: &'static CStr,
    of: PhantomData<fn() -> T>,
}

const fn name(bytes: &'static [u8]) -> &'static CStr {
    match CStr::from_bytes_with_nul(bytes) {
        Ok(text) => text,
        Err(_) => panic!("a name that does not end with 0"),
    }
}

/// How long unused pages are kept before they go back to the system, in milliseconds: 0 not at all, -1 for ever. It
/// holds for arenas that are made from now on.
pub const DIRTY_DECAY_MS: Setting<i64> = Setting::named(name(b"arenas.dirty_decay_ms\0"));
/// The same for pages that the system may take already.
pub const MUZZY_DECAY_MS: Setting<i64> = Setting::named(name(b"arenas.muzzy_decay_ms\0"));
/// Whether a thread of hew's returns memory while the program is idle.
pub const BACKGROUND_THREAD: Setting<bool> = Setting::named(name(b"background_thread\0"));
/// How many arenas there are.
pub const ARENAS: Setting<i64> = Setting::named(name(b"arenas.narenas\0"));
/// The settings that the environment has given. Read only.
pub const ENVIRONMENT: Setting<&'static CStr> = Setting::named(name(b"opt.malloc_conf.env_var\0"));

impl<T> Setting<T> {
    /// The value of this name, which is read when it is used: a wrong one is an error then.
    pub const fn named(name: &'static CStr) -> Self {
        Setting {
            name,
            of: PhantomData,
        }
    }
}

impl Setting<i64> {
    /// The value now.
    pub fn read(&self) -> Result<i64, Error> {
        let mut number = 0;
        // SAFETY: a name that ends with 0, and a place for one number.
        checked(unsafe { sys::hew_read_number(self.name.as_ptr(), &mut number) })?;
        Ok(number)
    }

    /// Changes it for the whole process.
    pub fn write(&self, number: i64) -> Result<(), Error> {
        // SAFETY: a name that ends with 0.
        checked(unsafe { sys::hew_write_number(self.name.as_ptr(), number) })
    }
}

impl Setting<bool> {
    /// The value now.
    pub fn read(&self) -> Result<bool, Error> {
        Ok(Setting::<i64>::named(self.name).read()? != 0)
    }

    /// Changes it for the whole process.
    pub fn write(&self, value: bool) -> Result<(), Error> {
        Setting::<i64>::named(self.name).write(i64::from(value))
    }
}

impl Setting<&'static CStr> {
    /// The value now.
    pub fn read(&self) -> Result<&'static CStr, Error> {
        let mut text = core::ptr::null();
        // SAFETY: a name that ends with 0, and a place for one pointer; the text belongs to hew and stays.
        unsafe {
            checked(sys::hew_read_text(self.name.as_ptr(), &mut text))?;
            Ok(CStr::from_ptr(text))
        }
    }
}

/// A text with a 0 at its end, for [`built_in_settings!`](crate::built_in_settings).
#[doc(hidden)]
#[repr(transparent)]
#[derive(Debug)]
pub struct BuiltIn<const LENGTH: usize>([u8; LENGTH]);

impl<const LENGTH: usize> BuiltIn<LENGTH> {
    /// A copy of the text.
    pub const fn new(text: &str) -> Self {
        let (mut bytes, mut at) = ([0; LENGTH], 0);
        while at < LENGTH {
            bytes[at] = text.as_bytes()[at];
            at += 1;
        }
        BuiltIn(bytes)
    }
}
