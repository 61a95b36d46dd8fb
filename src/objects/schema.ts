import { Type } from 'typebox'
import { Flag, flag, refused } from '../platform/http/query.ts'
import { RightApi, WhoApi } from '../rights/schema.ts'
import { deletePolicies } from './delete/delete.ts'
import { formatNames } from './render/formats.ts'
import { editLimits } from './save/edits/model.ts'
import { editOps } from './save/edits/parse.ts'
import { maxBatch } from './save/request/payload.ts'

export const ObjecttypePath = Type.Object({
  objecttype: Type.String({ minLength: 1, maxLength: 200, description: 'Name of the object type.' }),
})

const open = { additionalProperties: true } as const

const Block = Type.Object(
  {
    _id: Type.Optional(Type.Integer({ description: 'Unique per object type.' })),
    _version: Type.Optional(Type.Integer({ description: 'The stored version; absent on create.' })),
    '_version:auto_increment': Type.Optional(
      Type.Boolean({
        description: 'Updates the named object whatever its version: for importers, which would overwrite it anyway.',
      }),
    ),
  },
  { ...open, title: 'ObjectBlock', description: 'The fields that the mask selects, by name.' },
)

const PoolRef = Type.Object(
  { pool: Type.Object({ _id: Type.Optional(Type.Integer()) }, open) },
  { ...open, title: 'PoolRef', description: 'A pool by its id.' },
)

const TagRef = Type.Object({ _id: Type.Integer() }, { ...open, title: 'TagRef', description: 'A tag by its id.' })

const system = {
  _objecttype: Type.String({ description: 'Name of the object type; the member of this name is the block.' }),
  _mask: Type.String({ description: 'Name of the mask that shapes the block.' }),
  _system_object_id: Type.Optional(Type.Integer({ description: 'Unique in the instance.' })),
  _global_object_id: Type.Optional(Type.String({ description: '`<_system_object_id>@<database name>`.' })),
  _uuid: Type.Optional(Type.String()),
  _comment: Type.Optional(Type.String({ description: 'Why this version was saved.' })),
  _pool: Type.Optional(PoolRef),
  _tags: Type.Optional(Type.Array(TagRef)),
  _acl: Type.Optional(Type.Array(RightApi)),
  _private_acl: Type.Optional(
    Type.Boolean({ description: 'Only the grants of the object itself count, and sticky ones of its pools.' }),
  ),
  _owner: Type.Optional(WhoApi),
  _create_user: Type.Optional(WhoApi),
}

const Text = Type.Optional(Type.String())
const Anything = Type.Optional(Type.Unknown())

const Texts = Type.Record(Type.String(), Type.String(), { description: 'By language.' })

const StandardText = Type.Object(
  { text: Texts, html: Type.Optional(Texts) },
  { ...open, title: 'StandardText', description: 'A text of `_standard`; `html` in formats that have it.' },
)

/** The form of `_standard` in answers. A save ignores it, so a client can send it back unchanged. */
const Standard = Type.Object(
  {
    '1': Type.Optional(StandardText),
    '2': Type.Optional(StandardText),
    '3': Type.Optional(StandardText),
    eas: Type.Optional(
      Type.Record(Type.String(), Type.Array(Type.Object({ _id: Type.Integer(), preferred: Type.Boolean() }, open)), {
        description: 'Files, by level.',
      }),
    ),
    geo: Type.Optional(
      Type.Record(Type.String(), Type.Array(Type.Object({ _field_name: Type.String(), geo: Type.Unknown() }, open)), {
        description: 'Geometries, by level.',
      }),
    ),
  },
  { ...open, title: 'Standard', description: 'The texts that show the object: title, subtitle, internal text.' },
)

/** System fields that are only answered; which of them depends on the format. */
const answered = {
  _comment: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  _format: Text,
  _objecttype_display_name: Anything,
  _mask_display_name: Anything,
  _standard: Type.Optional(Standard),
  _created: Text,
  _last_modified: Text,
  _latest_version: Type.Optional(Type.Boolean()),
  _latest_version_deleted_at: Text,
  _level: Type.Optional(Type.Integer()),
  _has_children: Type.Optional(Type.Boolean()),
  _path: Anything,
  _generated_rights: Anything,
}

const Values = (description: string) => Type.Optional(Type.Array(Type.Unknown(), { description }))

/** A change that depends on the stored value; save/edits/parse.ts checks it, with errors that name the place of a mistake. */
const ObjectOperation = Type.Object(
  {
    op: Type.Enum([...editOps], { description: '`replace_text` is for texts, all others for lists.' }),
    field: Type.String({
      description:
        '`_nested:work__material`, a list of files such as `image`, a field of texts such as `title` or `_nested:work__material.name`, `_tags` or `_acl`.',
    }),
    values: Values('What is added; or what rows, files, tags or `who` of grants are removed or replaced.'),
    with: Type.Optional(
      Type.Unknown({
        description: 'What comes in their place: fields of rows, a list of files, of tags or of grants, a text.',
      }),
    ),
    unless_present: Type.Optional(
      Type.Boolean({ description: 'Adds no row where one has the same values in its fields.' }),
    ),
    search: Type.Optional(
      Type.String({ minLength: 1, maxLength: editLimits.search, description: 'What `with` replaces.' }),
    ),
    whole_words: Type.Optional(Type.Boolean({ description: 'Only where it is no part of a longer word.' })),
    match_case: Type.Optional(Type.Boolean({ description: 'Capital and small letters differ.' })),
    languages: Type.Optional(Type.Array(Type.String(), { description: 'Of texts by language; without it all.' })),
  },
  { title: 'ObjectOperation', description: 'A change that depends on what is stored of an object.' },
)

/**
 * An object as a client sends it. The datamodel defines its fields, so it is checked against the mask and not against this schema.
 */
const ObjectInput = Type.Object(
  {
    ...system,
    _operations: Type.Optional(
      Type.Array(ObjectOperation, {
        maxItems: editLimits.operations,
        description: 'With `PATCH`, and where `_id` is a list: changes over the fields, in their order.',
      }),
    ),
  },
  {
    ...open,
    title: 'ObjectInput',
    description: 'System fields and, under the name of the object type, the block (`ObjectBlock`).',
  },
)

export const ObjectBody = Type.Array(Type.Unknown({ 'x-shown-as': ObjectInput }), { maxItems: maxBatch })

const DeleteItem = Type.Array(Type.Union([Type.Integer(), Type.String(), Type.Null()]), {
  minItems: 2,
  maxItems: 3,
  title: 'DeleteItem',
  description: '`_id`, stored `_version`, comment or null.',
})

export const DeleteBody = Type.Array(Type.Unknown({ 'x-shown-as': DeleteItem }), { maxItems: maxBatch })

export const DbObject = Type.Object(
  {},
  {
    ...open,
    'x-shown-as': Type.Object(
      { ...system, ...answered },
      {
        patternProperties: { '^[^_]': Block },
        title: 'DbObject',
        description: 'An object: system fields and, under the name of the object type, the block.',
      },
    ),
  },
)

const Format = Type.Union(
  formatNames.map((format) => Type.Literal(format)),
  { description: 'How much of the objects is answered.' },
)

const Wait = Type.Integer({ minimum: 0, maximum: 3600, description: 'Most seconds to wait until indexed; 0: no wait.' })

export const FileUrlExpire = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 36_500,
    description: 'Days that addresses of files hold; at most `file_url_expire.max_days` of the base configuration.',
  }),
)
const noOthers = refused('addresses of files always are those of the service')
export const FilesRealUrl = Type.Optional(Type.Unsafe<Flag>({ ...Flag, ...noOthers }))

export const SaveQuery = Type.Object({
  format: Type.Optional(Format),
  dry_run: flag('Check everything, write nothing.'),
  strict: flag('Refuse what else would be ignored and only named.'),
  collection: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Id of a collection: objects that are created are appended to it.',
    }),
  ),
  collection_policy: Type.Optional(
    Type.Enum(['setinvalid', 'remove'], {
      description:
        'Where grants of collections would say more of an object than the owners may pass on (202 asks): `setinvalid` leaves ' +
        'the object there, and the collection says `_invalid_acl`; `remove` takes it out.',
    }),
  ),
  file_url_expire: FileUrlExpire,
  skip_reverse_nested: flag('Leave reverse-nested objects as they are.'),
  skip_bidirectional_update: flag('Leave the opposite side of bidirectional links as it is.'),
  skip_index: flag('Queue nothing for the index but what changes who may see an object.'),
  await_index: Type.Optional(Wait),
  skip_constraints: flag('Skip the constraint checks; for migrations.'),
  skip_plugins: flag('Call no plugins; needs `system.root`.'),
  skip_events: flag('Write no events; needs `system.root`.'),
  confirmTransition: Type.Optional(
    Type.String({ maxLength: 4096, description: 'The token of a 202: its question is answered with yes.' }),
  ),
  revoke: Type.Optional(
    Type.String({
      pattern: '^yes(:.{0,4096})?$',
      description: '`yes`: losing the own access is meant; `yes:<token>` confirms transitions too.',
    }),
  ),
  'revoke:confirmTransition': Type.Optional(
    Type.String({ pattern: '^yes:.{1,4096}$', description: 'As `revoke=yes:<token>`.' }),
  ),
  reverse_pool_changed_mode: Type.Optional(
    Type.Union([Type.Literal('reverse_pool_changed_always'), Type.Literal('reverse_pool_changed_never')], {
      description: 'Whether reverse-nested objects follow into the new pool.',
    }),
  ),
})

export const DeleteQuery = Type.Object({
  dry_run: flag('Check everything, write nothing.'),
  delete_policy: Type.Optional(
    Type.Union(
      deletePolicies.map((policy) => Type.Literal(policy)),
      { description: 'What to do; `remove` and `setnull` say what becomes of objects that link to a deleted one.' },
    ),
  ),
  confirmTransition: Type.Optional(
    Type.String({ maxLength: 4096, description: 'The token of a 202: its question is answered with yes.' }),
  ),
  await_index: Type.Optional(Wait),
})

export const DeleteAnswer = Type.Object(
  {
    policy: Type.String(),
    removed: Type.Array(Type.Integer()),
    setnull: Type.Array(Type.Integer()),
    create_collection: Type.Integer(),
  },
  { title: 'DeleteAnswer' },
)
