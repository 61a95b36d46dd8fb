/**
 * The catalogue of all rights, as data: the check of grants accepts them, the evaluation knows them, `GET /right` prints them. The
 * names are those of existing clients of this interface; the comments are ours.
 */

export type RightContext =
  | 'system'
  | 'pool'
  | 'object'
  | 'objecttype-without-pool'
  | 'collection'
  | 'tag'
  | 'user'
  | 'group'

/** Form of the value of a parameter; `bytes` also takes a text such as `10MB`. */
export type ParameterType = 'bool' | 'bytes' | 'string-list' | 'integer-list' | 'mask-list' | AddedParameterType

/** Types of parameters of added system rights. The value is a list of ids or names where several can be selected. */
export const addedParameterTypes = [
  'int',
  'text',
  'string-list-one',
  'string-list-one-or-zero',
  'mask-select',
  'objecttype-select',
  'eas-column-select',
  'pool-select',
  'preview-versions',
] as const
export type AddedParameterType = (typeof addedParameterTypes)[number]

export interface RightParameter {
  readonly name: string
  readonly type: ParameterType
  readonly comment: string
  /** Closed list of allowed values. */
  readonly choices?: readonly string[]
  /** How the values of several grants combine: '' widens (union, or), `less` narrows (and). */
  readonly mergePolicy: '' | 'less'
  readonly asker?: Asker
}

/**
 * The user of a right, where it is not the service: front ends. The service stores and merges such rights, and returns them in the
 * session.
 */
export type Asker = 'frontend'

export interface RightDefinition {
  readonly name: string
  /** Rights of the same group are shown together in a permission editor. */
  readonly group: string
  readonly comment: string
  /** Whether `_grantable` may be set: then the holder may pass the right on and may clear a sticky grant of it. */
  readonly grantable: boolean
  readonly parameters: readonly RightParameter[]
  readonly asker?: Asker
}

export interface ContextDefinition {
  /** The optional parts of a grant that this context allows. */
  readonly capabilities: {
    readonly active: boolean
    readonly preset: boolean
    readonly tagfilter: boolean
    readonly valid: boolean
    readonly sticky: boolean
  }
  /** Principals beside users and groups. */
  readonly principals: readonly ('owner' | 'contact')[]
  readonly rights: readonly RightDefinition[]
}

function parameter(
  name: string,
  type: ParameterType,
  comment: string,
  more: Partial<RightParameter> = {},
): RightParameter {
  return { name, type, comment, mergePolicy: '', ...more }
}

function right(name: string, group: string, comment: string, ...parameters: RightParameter[]): RightDefinition {
  return { name, group, comment, grantable: true, parameters }
}

const objecttypeIds = parameter('objecttype_ids', 'integer-list', 'Object types that the right is limited to.')
const poolIds = parameter('pool_ids', 'integer-list', 'Pools that the right is limited to: for objects in them.')
const maskIds = parameter('mask_ids', 'mask-list', 'Masks per object type; a type that is not listed is not limited.')
const columnIds = parameter('column_ids', 'integer-list', 'File columns that the right is limited to.')
const classes = parameter('classes', 'string-list', 'File classes that the right is limited to.')
const extensions = parameter('extensions', 'string-list', 'File extensions that the right is limited to.')
const versions = parameter('versions', 'string-list', 'Renditions that the right is limited to, as class.version.')
const limit = parameter('limit', 'bytes', 'Largest file in bytes; 0 is no limit.')
const updateAndRemove = parameter('allow_update_and_remove', 'bool', 'Files may also be replaced and removed.')

const recordRights = [
  right('read', 'object', 'Read objects.', objecttypeIds, poolIds, maskIds),
  right('write', 'object', 'Change objects.', objecttypeIds, poolIds, maskIds),
  right('delete', 'object', 'Delete objects.', objecttypeIds, poolIds),
  right('link', 'object', 'Add objects to collections.', objecttypeIds, poolIds),
  right('unlink', 'object', 'Take objects out of the pool or collection.', objecttypeIds, poolIds),
  right('acl', 'object', 'See and change the grants of objects.', objecttypeIds, poolIds),
  right('change_owner', 'object', 'Give objects another owner.', objecttypeIds, poolIds),
  right('mask', 'object', 'Masks in which objects are read and written.', maskIds),
  right('asset_upload', 'asset', 'Upload files.', columnIds, classes, extensions, limit, updateAndRemove),
  right('asset_show', 'asset', 'Show renditions of files.', columnIds, classes, versions),
  right('asset_download', 'asset', 'Download files and renditions.', columnIds, classes, versions),
] as const

const createRight = right('create', 'object', 'Create objects.', objecttypeIds, poolIds, maskIds)

const bagRights = [
  right('bag_read', 'container', 'See it.'),
  right('bag_write', 'container', 'Change its properties.'),
  right('bag_acl', 'container', 'See and change its grants.'),
  right('bag_create', 'container', 'Create others below it and move others there.'),
  right('bag_delete', 'container', 'Delete it.'),
] as const

/** Rights on one object, as `may` takes them. */
export const objectRights = [
  'read',
  'write',
  'create',
  'delete',
  'link',
  'unlink',
  'acl',
  'change_owner',
  'mask',
  'asset_upload',
  'asset_show',
  'asset_download',
] as const

export type ObjectRight = (typeof objectRights)[number]

/** Rights on a pool itself. */
export const containerRights = ['bag_read', 'bag_write', 'bag_acl', 'bag_create', 'bag_delete'] as const

/** Rights on a tag. */
export const tagRights = ['tag_see', 'tag_add', 'tag_remove'] as const

export type TagRight = (typeof tagRights)[number]

export type ContainerRight = (typeof containerRights)[number]

/**
 * The rights of the owner of an object: all but creating more objects and uploading files. So ownership never depends on a grant
 * that another user may remove, and an owner can always share the object.
 */
export const ownerRights: ReadonlySet<string> = new Set<ObjectRight>([
  'read',
  'write',
  'delete',
  'link',
  'unlink',
  'acl',
  'change_owner',
  'mask',
  'asset_show',
  'asset_download',
])

function systemRight(name: string, comment: string, ...parameters: RightParameter[]): RightDefinition {
  return { name, group: 'system', comment, grantable: false, parameters }
}

const flag = (name: string, comment: string): RightParameter => parameter(name, 'bool', comment)

/** A flag that only front ends use. */
const frontendFlag = (name: string, comment: string): RightParameter => ({ ...flag(name, comment), asker: 'frontend' })

const hidden = frontendFlag('hide_frontend_app', 'Front ends do not show their page for it.')

const profileFields = [
  'first_name',
  'last_name',
  'displayname',
  'company',
  'department',
  'phone',
  'street',
  'house_number',
  'address_supplement',
  'postal_code',
  'town',
  'country',
  'picture',
  'mail_schedule',
  '_new_primary_email',
] as const

/**
 * Rights that control the functions of front ends. The service stores these rights and returns them in the session, merged from the
 * user and the groups. Except for two values of `system.frontend_features` the service never checks them, so they do not protect
 * data.
 */
const frontendRights = [
  systemRight(
    'system.frontend_features',
    'Features of front ends that are switched on, and whom the holder may make by grants on collections.',
    ...[
      'allow_fulltext_file_search',
      'asset_browser_metadata_tool',
      'asset_variants',
      'changelog',
      'changelog_with_user',
      'collection_presentation',
      'csv_importer',
      'deep_link_sharing',
      'download',
      'edit_bulk',
      'editor_bulk',
      'editor_bulk_delete',
      'enable_ignore_linked_objects_filter',
      'export',
      'json_importer',
      'link_sharing',
      'print',
      'script_runner',
      'show_system_tags',
      'stored_searches',
      'upload_url',
      'upload_without_produce_versions',
    ].map((name) => flag(name, 'On or off.')),
    parameter(
      'acl_manager',
      'string-list',
      'Parts of the permission editor. The service itself asks for create_email_user: to make accounts for mail addresses by grants.',
    ),
    parameter(
      'collection',
      'string-list',
      'Parts of collections, for example sharing. The service itself asks for share_anonymous: to make anonymous links.',
    ),
    parameter(
      'metadata_export',
      'string-list',
      'Treatments of metadata that downloads may ask for, for example keep, remove.',
    ),
    parameter(
      'metadata_upload',
      'string-list',
      'Treatments of metadata that uploads may ask for, for example standard.',
    ),
  ),
  systemRight(
    'system.user.write_self',
    'Fields of the own record that front ends let be edited; the service lets users edit them all.',
    ...profileFields.map((name) => flag(name, 'Front ends let it be edited.')),
  ),
  systemRight(
    'system.user.create_new',
    'Front ends offer to register; the service knows no registration.',
    ...[...profileFields, '_password', 'login'].map((name) => flag(name, 'Front ends let it be filled in.')),
    flag('require_group', 'Front ends ask for a group.'),
    parameter('type', 'string-list', 'Type of the new user, for example native_self_register.'),
    parameter('custom_type', 'string-list', 'The type, where it is an own one.'),
  ),
  systemRight('system.rightsmanagement', 'Front ends show what changes grants; the rights for that are others here.'),
  systemRight('system.rights_management', 'For front ends, as system.rightsmanagement.'),
  systemRight('system.server.error.self_uuid_detail', 'Front ends show details of the own errors.'),
  systemRight('system.server.error.uuid_detail', 'Front ends show details of the errors of all.'),
  systemRight(
    'system.export',
    'Front ends offer exports; the service does not ask for it, as an export shows only objects that its user may read.',
  ),
  systemRight('system.health', 'Front ends show the state of the service.'),
  systemRight('system.disable_linked_objects_filter', 'Front ends switch filters of linked objects off.'),
  systemRight('system.search_collection_only', 'Front ends offer the search in collections only.'),
  systemRight('system.allow_custom_in_right_with_preset', 'Front ends let rights be added to those of a preset.'),
  systemRight('system.objectadmineditor', 'Front ends show the editor for administrators.'),
  systemRight('system.ignore_columnfilters', 'Front ends show columns that filters hide.'),
  systemRight(
    'system.search',
    'Front ends offer the search, which everybody may use.',
    flag('has_own_collections', 'Has own collections.'),
    flag('show_fixed_searches', 'Sees the fixed searches.'),
    flag('collection_only', 'Front ends offer the search in collections only.'),
    flag('show_system_tags', 'Front ends show tags that tell of violations.'),
  ),
  systemRight('system.log.search', 'Front ends show the search log; to read events takes system.api.event.'),
  systemRight(
    'system.log.detail_view',
    'Front ends show the log of detail views; to read events takes system.api.event.',
  ),
].map((one): RightDefinition => ({ ...one, asker: 'frontend' }))

const systemRights = [
  systemRight('system.root', 'Everything: passes every right check.'),
  systemRight(
    'system.datamodel',
    'Edit the datamodel; commit it with level commit.',
    parameter(
      'level',
      'string-list',
      'current: front ends show the datamodel, which everybody may read; development: edit the working copy; commit: also commit it.',
      { choices: ['current', 'development', 'commit'] },
    ),
  ),
  systemRight('system.objecttypemanager', 'Change the settings of object types.'),
  systemRight('system.poolmanager', 'Create, change and delete pools, within the grants on them.'),
  systemRight('system.tagmanager', 'Change tags, tag groups and transitions.'),
  systemRight('system.rightpresetmanager', 'Change right presets.'),
  systemRight(
    'system.group',
    'Change groups, within the grants on them.',
    flag('create', 'Create groups.'),
    flag('create_acl', 'Set grants on groups while creating them.'),
    flag('create_system_rights', 'Set system rights of groups while creating them.'),
    flag('edit_acl', 'Change the grants on groups.'),
    flag('edit_system_rights', 'Change the system rights of groups.'),
    flag('global_custom_bag_read', 'Read all groups; false: only groups that grants allow.'),
    hidden,
  ),
  systemRight(
    'system.user',
    'Manage users, within the grants on them.',
    flag('read', 'Search and read all users; false: only users that grants allow.'),
    flag('create', 'Create users.'),
    flag('create_acl', 'Set grants on users while creating them.'),
    flag('create_system_rights', 'Set system rights of users while creating them.'),
    flag('edit_acl', 'Change the grants on users.'),
    flag('edit_system_rights', 'Change the system rights of users.'),
    hidden,
  ),
  systemRight('system.user.change_password', 'Change the own password.'),
  systemRight('system.message', 'Read and change messages.'),
  systemRight('system.config', 'Change the base configuration.'),
  systemRight('system.plugin', 'Install plugins, which run as the service: who has it may do what the service may do.'),
  systemRight('system.profile', 'Manage mappings of metadata (XML profiles).'),
  systemRight('system.location', 'See storage locations; only root changes them.'),
  systemRight('system.backup', 'Make and fetch backups: who has it may read all that is stored, as root does.'),
  systemRight('system.sendmail', 'Send mail through the service.'),
  systemRight('system.task', 'Manage tasks of the own, which run with the rights of their creator.'),
  systemRight(
    'system.api.event',
    'Read and delete events by API.',
    flag('get', 'Read events.'),
    flag('delete', 'Delete events.'),
  ),
  systemRight(
    'system.api.publish',
    'Publish records by API.',
    flag('get', 'Read publish records.'),
    flag('post', 'Write publish records.'),
    flag('delete', 'Delete publish records.'),
  ),
  ...frontendRights,
] as const

const personRights = (kind: 'user' | 'group') => [
  right('bag_read', 'container', 'See it, also in pickers.'),
  right('bag_write', 'container', kind === 'user' ? 'Change its profile.' : 'Change its names and notes.'),
  right('acl', 'container', 'See and change the grants on it.'),
  right('delete', 'container', 'Delete it.'),
]

const everything = { active: true, preset: false, tagfilter: true, valid: true, sticky: true } as const

/** The catalogue by context: what grant lists of the context may contain. */
export const rightsCatalogue: Readonly<Record<RightContext, ContextDefinition>> = {
  system: {
    capabilities: { active: false, preset: false, tagfilter: false, valid: false, sticky: false },
    principals: [],
    rights: systemRights,
  },
  pool: {
    capabilities: everything,
    principals: ['owner', 'contact'],
    rights: [...bagRights, createRight, ...recordRights],
  },
  object: {
    capabilities: { ...everything, preset: true, sticky: false },
    principals: ['owner', 'contact'],
    rights: recordRights,
  },
  'objecttype-without-pool': {
    capabilities: { ...everything, sticky: false },
    principals: ['owner'],
    // For objects without pool.
    rights: [createRight, ...recordRights].map((each) => ({
      ...each,
      parameters: each.parameters.filter((parameter) => parameter !== poolIds),
    })),
  },
  collection: {
    capabilities: { ...everything, preset: true },
    principals: ['owner'],
    rights: [
      ...bagRights,
      right(
        'create_in_collection',
        'object',
        'Create objects in the collection, in the name of its owner, by uploads to its addresses; with link.',
        objecttypeIds,
        maskIds,
      ),
      // `link` and `unlink` concern the list; all other rights concern the objects in it.
      ...recordRights,
    ],
  },
  tag: {
    capabilities: { ...everything, tagfilter: false, sticky: false },
    principals: [],
    rights: [
      right('tag_see', 'tag', 'See the tag as an option.'),
      right('tag_add', 'tag', 'Apply the tag.'),
      right('tag_remove', 'tag', 'Remove the tag.'),
    ],
  },
  user: {
    capabilities: { ...everything, tagfilter: false, sticky: false },
    principals: ['owner'],
    rights: [
      ...personRights('user'),
      right('link', 'container', 'Change which groups the user is in, among those with the right link.'),
      right('sessions', 'container', 'See and end the sessions of the user.'),
    ],
  },
  group: {
    capabilities: { ...everything, tagfilter: false, sticky: false },
    principals: ['owner'],
    rights: [...personRights('group'), right('link', 'container', 'Change which users are in the group.')],
  },
}
