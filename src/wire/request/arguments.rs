//! Builds a request from JSON values: the arguments of a tool, which the protocol passes on parsed.
//!
//! Each text is moved from the value into the request, and each value is deserialised once.

use serde::de::{Deserialize as _, DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value};

use super::{EditJson, FileRequestJson, RequestJson, add_shape, field_names, read_object, segment};
use crate::error::{ErrorKind, Result};
use crate::request::validate::{self, Findings, PathRule, at_edit, at_file};
use crate::wire::fault_words::{in_json_words, unknown_field};
use crate::wire::lenient::{Lenient, TextValues};

/// Fields of a plan that the schemas of the tools do not list, for want of room, and that are refused there like any other
/// unknown one.
pub(crate) const PLAN_ONLY: [&str; 4] = ["symlink_to", "make_folder", "remove_folder", "if_missing"];

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
    add_shape(&mut faults.found, &shape);
    faults.found.finish()?;
    validate::check_paths(&request, paths)?;
    Ok(request)
}

/// The faults found so far. An entry that cannot be read becomes an empty one, so that the others keep their index.
#[derive(Default)]
struct ArgumentFaults {
    found: Findings,
    text_values: TextValues,
}

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
        let fields = Lenient(value, &self.text_values).unpack(Value::is_object);
        let mut fields = match fields {
            Ok(Value::Object(fields)) => fields,
            Ok(other) => return self.read(other, at_file(index, None)),
            Err(error) => {
                self.found.push(ErrorKind::ValidationFailed, at_file(index, None), error.to_string());
                return FileRequestJson::default();
            }
        };
        let edits = self.take_list(&mut fields, "edits", at_file(index, None));
        let file: FileRequestJson<IgnoredAny> = self.read(Value::Object(fields), at_file(index, None));
        file.with_edits(edits.map(|edits| {
            let edits = edits.into_iter().enumerate();
            edits.map(|(edit, value)| self.read::<EditJson>(value, at_edit(index, edit, None))).collect()
        }))
    }

    /// Takes a list out of an object at `place`.
    fn take_list(&mut self, fields: &mut Map<String, Value>, name: &str, mut place: Vec<String>) -> Option<Vec<Value>> {
        let fault = match Lenient(fields.remove(name)?, &self.text_values).unpack(Value::is_array) {
            Ok(Value::Null) => return None,
            Ok(Value::Array(list)) => return Some(list),
            // Only to get the fault in serde's words, as for any other field.
            Ok(other) => Vec::<IgnoredAny>::deserialize(other).err(),
            Err(error) => Some(error),
        };
        place.push(name.to_owned());
        let fault = fault.map(|error| in_json_words(&error.to_string()));
        self.found.push(ErrorKind::ValidationFailed, place, fault.unwrap_or_default());
        None
    }

    /// Deserialises the object at `place`.
    fn read<T: DeserializeOwned + Default>(&mut self, value: Value, mut place: Vec<String>) -> T {
        let value = match value {
            Value::Object(fields) => Value::Object(self.known_fields::<T>(fields, &place)),
            other => other,
        };
        read_object(Lenient(value, &self.text_values)).unwrap_or_else(
            |error: serde_path_to_error::Error<serde_json::Error>| {
                place.extend(error.path().iter().filter_map(segment));
                self.found.push(ErrorKind::ValidationFailed, place, in_json_words(&error.inner().to_string()));
                T::default()
            },
        )
    }

    /// Takes out the fields that there are not: serde would stop at the first.
    fn known_fields<T: DeserializeOwned>(
        &mut self,
        fields: Map<String, Value>,
        place: &[String],
    ) -> Map<String, Value> {
        let known: Vec<&str> = field_names::<T>().iter().copied().filter(|name| !PLAN_ONLY.contains(name)).collect();
        let (ours, others): (Map<_, _>, Map<_, _>) =
            fields.into_iter().partition(|(name, _)| known.contains(&name.as_str()));
        for (name, _) in others {
            let message = unknown_field(&name, known.iter().copied());
            let place = place.iter().cloned().chain([name]).collect();
            self.found.push(ErrorKind::ValidationFailed, place, message);
        }
        ours
    }
}
