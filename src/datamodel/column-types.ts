/** Column types of a snapshot; `files` is another name of `eas`, custom types are `custom:<plugin>.<type>`. */
export const columnTypes = [
  'text',
  'text_oneline',
  'string',
  'text_l10n',
  'text_l10n_oneline',
  'number',
  'integer.2',
  'double',
  'boolean',
  'date',
  'datetime',
  'daterange',
  'geo_json',
  'eas',
  'link',
] as const
