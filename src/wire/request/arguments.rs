//! Builds a request from JSON values: the arguments of a tool, which the protocol passes on parsed.
//!
//! Each text is moved from the value into the request, and each value is deserialised once.

use serde::de::{Deserialize as _, DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value};

use super::{EditJson, FileRequestJson, RequestJson, add_shape, read_object, segment};
use crate::error::{ErrorKind, Result};
use crate::request::validate::{self, Findings, PathRule, at_edit, at_file};

/// The request in `arguments`, or everything that is wrong with it. No file is accessed.
///
/// Faults name their place in the request only: the caller never saw the text that was parsed.
pub(in crate::wire) fn from_arguments(
    arguments: Map<String, Value>,
    paths: PathRule,
) -> Result<crate::request::Request> {
    let mut faults = ArgumentFaults::default();
    let request = faults.request(arguments);
    let mut shape = Findings::new();
    let request = request.convert(&mut shape);
    add_shape(&mut faults.0, &shape);
    faults.0.finish()?;
    validate::check_paths(&request, paths)?;
    Ok(request)
}

/// The faults found so far. An entry that cannot be read becomes an empty one, so that the others keep their index.
#[derive(Default)]
struct ArgumentFaults(Findings);

impl ArgumentFaults {
    fn request(&mut self, mut fields: Map<String, Value>) -> RequestJson {
        let files = self.take_list(&mut fields, "files", Vec::new());
        let request: RequestJson<IgnoredAny> = self.read(Value::Object(fields), Vec::new());
        request.with_files(files.map(|files| {
            let files = files.into_iter().enumerate();
            files.map(|(index, file)| self.file(index, file)).collect()
        }))
    }

    fn file(&mut self, index: usize, value: Value) -> FileRequestJson {
        let Value::Object(mut fields) = value else { return self.read(value, at_file(index, None)) };
        let edits = self.take_list(&mut fields, "edits", at_file(index, None));
        let file: FileRequestJson<IgnoredAny> = self.read(Value::Object(fields), at_file(index, None));
        file.with_edits(edits.map(|edits| {
            let edits = edits.into_iter().enumerate();
            edits.map(|(edit, value)| self.read::<EditJson>(value, at_edit(index, edit, None))).collect()
        }))
    }

    /// Takes a list out of an object at `place`.
    fn take_list(&mut self, fields: &mut Map<String, Value>, name: &str, mut place: Vec<String>) -> Option<Vec<Value>> {
        match fields.remove(name)? {
            Value::Null => None,
            Value::Array(list) => Some(list),
            // Only to get the fault in serde's words, as for any other field.
            other => {
                place.push(name.to_owned());
                let fault = Vec::<IgnoredAny>::deserialize(other).err().map(|error| error.to_string());
                self.0.push(ErrorKind::ValidationFailed, place, fault.unwrap_or_default());
                None
            }
        }
    }

    /// Deserialises the object at `place`.
    fn read<T: DeserializeOwned + Default>(&mut self, value: Value, mut place: Vec<String>) -> T {
        read_object(value).unwrap_or_else(|error: serde_path_to_error::Error<serde_json::Error>| {
            place.extend(error.path().iter().filter_map(segment));
            self.0.push(ErrorKind::ValidationFailed, place, error.inner().to_string());
            T::default()
        })
    }
}
