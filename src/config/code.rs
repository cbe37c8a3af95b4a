//! The codes that only a configuration has; the others are the language's.

use atelier_lang::diag::Code;

/// What this file may not say, although another one may.
pub const MISPLACED: Code = Code(802);

/// A path that image `host` must not show.
pub const PRIVATE: Code = Code(803);
