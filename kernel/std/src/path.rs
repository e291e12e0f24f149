//! Names of files, though there are none.

/// A name of a file.
pub type Path = typed_path::UnixPath;
/// An owned name of a file.
pub type PathBuf = typed_path::UnixPathBuf;
