/** Wire shapes of collections (`names/`: `/collection`). */
import { type Static, Type } from 'typebox'
import { kept, refused } from '../platform/http/query.ts'
import { GeneratedRightsApi, grantShown, LookupByReference, RightApi, WhoApi } from '../rights/schema.ts'

const open = { additionalProperties: true } as const
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const Loca = Type.Record(Type.String({ maxLength: 35 }), Type.String({ maxLength: 10_000 }))

function optional<T extends Parameters<typeof Type.Union>[0][number]>(type: T) {
  return Type.Optional(Type.Union([type, Type.Null()]))
}

/** Most collections of one request. */
export const mostCollections = 1000
/** Most levels of collections. */
export const mostLevels = 100
/** Most objects of one request, and in one collection. */
export const mostObjects = 100_000
export const mostEntries = 1_000_000

const uploads = kept('uploads into the collection')
const params = Type.Record(Type.String({ maxLength: 200 }), Type.Unknown())

const poolNamed = (same: string) =>
  optional(
    Type.Object(
      { pool: Type.Object({ _id: optional(Id), 'lookup:_id': optional(LookupByReference) }, open) },
      { ...open, description: `The same as \`${same}\`.` },
    ),
  )

export const CreateObject = Type.Object(
  {
    objecttype: optional(Type.String({ maxLength: 200 })),
    mask_id: optional(Id),
    pool_id: optional(Id),
    linked_pool_id: optional(Id),
    pool: poolNamed('pool_id'),
    linked_pool: poolNamed('linked_pool_id'),
    eas_field: optional(Type.String({ maxLength: 500 })),
    linked_object_pools: optional(Type.Record(Type.String({ maxLength: 200 }), Type.Unknown())),
    hierarchy_linked_object: optional(Type.Object({ field: optional(Type.String({ maxLength: 500 })) }, open)),
    mapping: optional(Type.Union([Type.Enum(['standard', 'none']), Id])),
    mapping_recipe_configs: optional(
      Type.Record(Type.String({ maxLength: 200 }), Type.Object({ params: optional(params) }, open)),
    ),
    recognize_series: optional(Type.Boolean()),
    recognize_version: optional(Type.Boolean()),
    update_search_field: optional(Type.String({ maxLength: 500 })),
    update_mode: optional(Type.Enum(['insert', 'update', 'upsert'])),
    update_policy: optional(Type.Enum(['create_version', 'replace', 'create_version_preferred', 'refuse'])),
    tags: optional(Type.Array(Type.Object({ _id: Id }, { ...open, title: 'CollectionTag' }), { maxItems: 1000 })),
    plugin: optional(
      Type.String({ maxLength: 500, pattern: '^[^:]+(:[^:]*)*:[a-z][a-z_0-9]+$', description: '`plugin:callback`.' }),
    ),
    plugin_config: optional(params),
  },
  { ...open, ...uploads, title: 'CollectionCreateObject' },
)
export type CreateObjectInput = Static<typeof CreateObject>

/** The object named by an entry of a list: checked entry by entry (entries/request.ts). */
export const Entry = Type.Object(
  {
    _global_object_id: optional(Type.String({ maxLength: 1000 })),
    webfrontend_props: optional(Type.Object({}, { ...open, ...kept('front ends') })),
    'lookup:_global_object_id': optional(
      Type.Object(
        {
          _objecttype: optional(Type.String()),
          _system_object_id: optional(Id),
          _uuid: optional(Type.String()),
          _allow_defer: optional(Type.Boolean(refused('an object that comes later cannot be in a list'))),
        },
        { ...open, description: 'Beside these one column of the object type, with its value.' },
      ),
    ),
    _not_allowed: Type.Optional(Type.Boolean({ description: 'The caller may not read the object. Ignored on input.' })),
  },
  { ...open, title: 'CollectionEntry' },
)
const Entries = Type.Array(Type.Unknown({ 'x-names': () => Entry, 'x-shown-as': Entry }), { maxItems: mostObjects })

/** A collection as sent: absent members stay unchanged, `null` clears a member. */
export const CollectionInput = Type.Object(
  {
    _basetype: Type.Optional(Type.Literal('collection')),
    collection: Type.Object(
      {
        _id: optional(Id),
        'lookup:_id': optional(LookupByReference),
        _version: optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647 })),
        _id_parent: optional(Id),
        'lookup:_id_parent': optional(LookupByReference),
        reference: optional(Type.String({ maxLength: 250 })),
        shortname: optional(Type.String({ maxLength: 250 })),
        uuid: optional(Type.String({ minLength: 36, maxLength: 36 })),
        type: optional(
          Type.String({ maxLength: 200, description: 'Free text, for example `workfolder` or `search`.' }),
        ),
        displayname: optional(Loca),
        description: optional(Loca),
        webfrontend_props: optional(Type.Object({}, { ...open, ...kept('front ends') })),
        create_object: optional(CreateObject),
        children_allowed: optional(Type.Boolean({ description: 'Kept, without effect.' })),
        objects_allowed: optional(Type.Boolean({ description: 'Kept, without effect.' })),
        is_system_collection: optional(Type.Boolean({ readOnly: true })),
        pin_code: optional(
          Type.String({
            maxLength: 1000,
            description:
              'Without it grants give others `bag_read` alone: 3 to 100 characters. null takes it away. It is never answered; `_has_pin` tells that there is one.',
          }),
        ),
      },
      open,
    ),
    _owner: optional(WhoApi),
    // Checked entry by entry (rights/acl.ts), with errors that name the right and the parameter.
    _acl: optional(Type.Array(Type.Unknown(grantShown), { maxItems: 1000 })),
    _private_acl: optional(Type.Boolean()),
    _renew_upload_urls: optional(
      Type.Boolean({
        description: 'The addresses in `_hotfolder_upload_urls` are void, others take their place (own extension).',
      }),
    ),
    objects: optional(Entries),
    _objects: optional(
      Type.Array(Type.Unknown({ 'x-names': () => Entry, 'x-shown-as': Entry }), {
        maxItems: mostObjects,
        description: 'The same as `objects`.',
      }),
    ),
  },
  { ...open, title: 'CollectionInput' },
)
export type CollectionInput = Static<typeof CollectionInput>

export const CollectionInputs = Type.Array(CollectionInput, { maxItems: mostCollections })

/** A reference to a collection; only the id if the caller may not see the collection. */
export const CollectionName = Type.Object(
  {
    _basetype: Type.Literal('collection'),
    collection: Type.Object(
      {
        _id: Id,
        _id_parent: Type.Optional(Type.Union([Id, Type.Null()])),
        _version: Type.Optional(Type.Integer()),
        displayname: Type.Optional(Loca),
      },
      open,
    ),
  },
  { ...open, title: 'CollectionName' },
)
export type CollectionName = Static<typeof CollectionName>

/** A collection as answered. `_acl` is only for callers who may see it (`bag_acl`); the list has its own route. */
export const CollectionOutput = Type.Object(
  {
    _basetype: Type.Literal('collection'),
    collection: Type.Object(
      {
        _id: Id,
        _version: Type.Integer(),
        _id_parent: Type.Union([Id, Type.Null()]),
        reference: Type.Optional(Type.String()),
        shortname: Type.Optional(Type.String()),
        uuid: Type.String(),
        type: Type.Optional(Type.String()),
        displayname: Loca,
        description: Loca,
        webfrontend_props: Type.Object({}, open),
        create_object: Type.Optional(Type.Object({}, open)),
        children_allowed: Type.Boolean(),
        objects_allowed: Type.Boolean(),
        is_system_collection: Type.Boolean(),
      },
      open,
    ),
    _owner: WhoApi,
    _level: Type.Integer({ description: '1 for the root; 3 for the top collection of a user.' }),
    _path: Type.Array(CollectionName),
    _has_children: Type.Boolean(),
    _count: Type.Integer(),
    _count_recursive: Type.Integer(),
    _has_remote_objects: Type.Boolean(),
    _has_acl: Type.Boolean({ description: 'There is a grant in force, own or inherited.' }),
    _acl: Type.Optional(Type.Array(RightApi)),
    _private_acl: Type.Boolean(),
    _invalid_acl: Type.Boolean({
      description:
        'A grant, own or inherited, says more of an object in the list than the owner may pass on: there it gives nothing.',
    }),
    _has_pin: Type.Boolean(),
    pin_ok: Type.Optional(
      Type.Boolean({ description: 'The PIN is not asked of the caller, or was entered. There where there is a PIN.' }),
    ),
    _pin_ok: Type.Optional(Type.Boolean({ description: 'The same as `pin_ok`.' })),
    _generated_rights: GeneratedRightsApi,
    _create_object_compiled: Type.Optional(Type.Object({}, open)),
    _hotfolder_upload_urls: Type.Optional(
      Type.Array(
        Type.Object(
          { type: Type.Enum(['webdav', 'webdav-hotfolder']), url: Type.String() },
          { ...open, title: 'UploadAddress' },
        ),
        {
          description: 'Where files are uploaded: for callers who may create objects in the collection and add them.',
        },
      ),
    ),
    _created_at: Type.String(),
    _updated_at: Type.String(),
  },
  { ...open, title: 'Collection' },
)
export type CollectionOutput = Static<typeof CollectionOutput>

export const ListInput = Type.Object(
  {
    _version: Type.Optional(Type.Integer({ readOnly: true })),
    offset: Type.Optional(Type.Integer({ readOnly: true })),
    limit: Type.Optional(Type.Integer({ readOnly: true })),
    index: Type.Optional(
      Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Position in the list, from 0.' }),
    ),
    count: Type.Optional(
      Type.Integer({
        minimum: -1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Number of entries that go there; -1: all up to the end.',
      }),
    ),
    objects: Type.Optional(Entries),
  },
  { ...open, title: 'CollectionListInput' },
)
export type ListInput = Static<typeof ListInput>

export const RemoveInput = Entries

export const ListOutput = Type.Object(
  {
    _version: Type.Integer(),
    count: Type.Integer({ description: 'Entries of the whole list.' }),
    index: Type.Integer({ description: 'Position of the first one that is answered.' }),
    offset: Type.Integer(),
    limit: Type.Integer(),
    objects: Type.Array(Entry),
  },
  { title: 'CollectionList' },
)
export type ListOutput = Static<typeof ListOutput>

export const ListChanged = Type.Object(
  { _version: Type.Integer(), count: Type.Integer({ description: 'Entries of the list from now on.' }) },
  { title: 'CollectionListChanged' },
)
export type ListChanged = Static<typeof ListChanged>
