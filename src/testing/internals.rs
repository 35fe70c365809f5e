//! The closed modules, open to the tests, benchmarks and fuzz targets of this repository. Nobody else may rely on them.

/// Opens modules of the crate, or of one of its modules.
macro_rules! open {
    ($($(#[$on:meta])* $module:ident $(of $parent:ident)?;)*) => {
        $($(#[$on])* pub mod $module { pub use crate::$($parent::)?$module::*; })*
    };
}

open! {
    commit;
    #[cfg(feature = "delegate")]
    delegate;
    dialect;
    digest;
    engine;
    errno;
    identity;
    index;
    #[cfg(feature = "mcp")]
    mcp;
    path;
    plan;
    replace;
    request;
    text;
}

/// What reads and writes a journal, and decides from it.
pub mod journal {
    open! {
        record of journal;
        recover of journal;
        reverse of journal;
        scan of journal;
    }
}

/// Those beside the [`Fs`](crate::fs::Fs) trait.
pub mod fs {
    open! {
        input of fs;
        os of fs;
        probe of fs;
        scratch of fs;
        threads of fs;
        tree of fs;
        walk of fs;
    }
}
