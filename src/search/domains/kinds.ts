/** The kinds of records that can be searched, as data. The table of docs/search.md is printed from it. */
import type { Audience, DomainName, FieldKind, RecordField, RecordKind } from './model.ts'

/** A field whose value is a column, or an expression of the row `t`. */
function field(name: string, kind: FieldKind, sql: string | RecordField['sql'], audience?: Audience): RecordField {
  const of = typeof sql === 'string' ? (t: string) => `${t}.${sql}` : sql
  return { name, kind, sql: of, ...(audience ? { audience } : {}) }
}

/** With the collation of its index, so that no other statement takes the index for a better one than its own. */
const repeated = (name: string, column: string): RecordField => ({
  ...field(name, 'text', (t) => `(${t}.${column} collate "C")`),
  repeats: true,
})

const list = (one: RecordField): RecordField => ({ ...one, list: true })

const times = [field('_created_at', 'date', 'created_at'), field('_updated_at', 'date', 'updated_at')]

function owner(audience?: Audience): RecordField[] {
  return [
    field('_owner.user._id', 'id', 'owner_user', audience),
    field('_owner.group._id', 'id', 'owner_group', audience),
  ]
}

const columns = (t: string, names: readonly string[]): string => names.map((name) => `${t}.${name}`).join(', ')

/** Texts among the settings that no rule uses. */
const profile = (kind: string, names: readonly string[], audience?: Audience): RecordField[] =>
  names.map((name) => field(`${kind}.${name}`, 'text', (t) => `(${t}.profile ->> '${name}')`, audience))

const pool: RecordKind = {
  basetype: 'pool',
  table: 'pool',
  seen: 'pools with the right `bag_read`',
  order: { field: 'pool._id', descending: false },
  words: null,
  fields: [
    field('pool._id', 'id', 'id'),
    field('pool._version', 'number', 'version'),
    field('pool._id_parent', 'id', 'parent_id'),
    field('pool.reference', 'text', 'reference'),
    field('pool.name', 'l10n', 'name'),
    field('pool.shortname', 'l10n', 'shortname'),
    field('pool.description', 'l10n', 'description'),
    field('pool.comment', 'text', 'comment'),
    field('pool.contact.user._id', 'id', 'contact_user'),
    field('pool.contact.group._id', 'id', 'contact_group'),
    field('pool.is_system_pool', 'boolean', 'is_system'),
    ...owner(),
    field('_level', 'number', (t) => `(cardinality(pool_path(${t}.id)) - 1)`),
    list(field('_path.pool._id', 'id', (t) => `trim_array(pool_path(${t}.id), 1)`)),
    field('_private_acl', 'boolean', 'private_acl'),
    field('_private_tags', 'boolean', 'private_tags'),
    field('_private_transitions', 'boolean', 'private_transitions'),
    ...times,
  ],
}

/** The reference of a top collection is derived from its user. */
const collectionReference = (t: string): string =>
  `coalesce(${t}.reference, (select coalesce('user:ref:' || o.reference, 'user:id:' || o.id) from "user" o where o.id = ${t}.user_id))`

const collection: RecordKind = {
  basetype: 'collection',
  table: 'collection',
  seen: 'collections with the right `bag_read`, and own ones',
  order: { field: 'collection._id', descending: false },
  words: {
    find: (t, words) =>
      `(collection_words(${columns(t, ['reference', 'shortname', 'uuid', 'type', 'displayname', 'description'])}) @> ${words}
        or ${t}.user_id is not null)`,
    whole: (t) => `${t}.user_id is null`,
  },
  fields: [
    field('collection._id', 'id', 'id'),
    field('collection._version', 'number', 'version'),
    field('collection._id_parent', 'id', 'parent_id'),
    field('collection.reference', 'text', collectionReference),
    field('collection.shortname', 'text', 'shortname'),
    field('collection.uuid', 'text', 'uuid'),
    field('collection.type', 'text', 'type'),
    field('collection.displayname', 'l10n', 'displayname'),
    field('collection.description', 'l10n', 'description'),
    field('collection.children_allowed', 'boolean', 'children_allowed'),
    field('collection.objects_allowed', 'boolean', 'objects_allowed'),
    field('collection.is_system_collection', 'boolean', 'is_system'),
    field('_invalid_acl', 'boolean', 'invalid_acl'),
    field('_owner.user._id', 'id', 'owner_user'),
    field('_level', 'number', (t) => `cardinality(${t}.path)`),
    list(field('_path.collection._id', 'id', (t) => `trim_array(${t}.path, 1)`)),
    list(field('_path.collection._id_parent', 'id', (t) => `trim_array(${t}.path, least(2, cardinality(${t}.path)))`)),
    field('_count', 'number', 'object_count'),
    field('_has_remote_objects', 'boolean', (t) => `(${t}.remote_count > 0)`),
    field('_private_acl', 'boolean', 'private_acl'),
    ...times,
  ],
}

const group: RecordKind = {
  basetype: 'group',
  table: '"group"',
  seen: 'groups that `GET /group` lists',
  order: { field: 'group._id', descending: false },
  words: null,
  fields: [
    field('group._id', 'id', 'id'),
    field('group._version', 'number', 'version'),
    field('group.type', 'text', 'type'),
    field('group.name', 'text', 'name'),
    field('group.reference', 'text', 'reference'),
    field('group.displayname', 'l10n', 'displayname'),
    ...profile('group', ['category_a', 'category_b', 'category_c']),
    ...profile('group', ['comment'], 'managers'),
    ...owner('managers'),
    field('_ip_subnet_filter_exclude', 'boolean', 'ip_subnet_filter_exclude', 'managers'),
    list(field('_ip_subnet_filter', 'text', 'ip_subnet_filter', 'managers')),
    field('_two_fa_required', 'boolean', 'two_fa_required', 'managers'),
    ...times,
  ],
}

const contact = ['phone', 'address_supplement', 'street', 'house_number', 'postal_code', 'town', 'state', 'country']
const day = (column: string) => (t: string) => `(${t}.${column}::timestamp at time zone 'UTC')`

const user: RecordKind = {
  basetype: 'user',
  table: '"user"',
  seen: 'users that `GET /user` lists',
  order: { field: 'user._id', descending: false },
  words: {
    find: (t, words) =>
      `user_words(${columns(t, ['type', 'login', 'email', 'reference', 'generated_displayname', 'database_languages', 'profile'])}) @> ${words}`,
    whole: () => 'true',
  },
  fields: [
    field('user._id', 'id', 'id'),
    field('user._version', 'number', 'version'),
    field('user.type', 'text', 'type'),
    field('user.login', 'text', 'login'),
    field('user.reference', 'text', 'reference'),
    field('user._generated_displayname', 'text', 'generated_displayname'),
    ...profile('user', ['first_name', 'last_name', 'displayname', 'company', 'department']),
    ...profile('user', [...contact, 'frontend_language'], 'self'),
    ...profile('user', ['remarks'], 'managers'),
    field('user.email', 'text', 'email', 'self'),
    field('user.login_disabled', 'boolean', 'login_disabled', 'self'),
    field('user.login_valid_from', 'date', day('login_valid_from'), 'self'),
    field('user.login_valid_to', 'date', day('login_valid_to'), 'self'),
    field('user.require_password_change', 'boolean', 'require_password_change', 'self'),
    list(field('user.database_languages', 'text', 'database_languages', 'self')),
    list(
      field(
        '_groups.group._id',
        'id',
        (t) => `array(select ug.group_id from user_group ug where ug.user_id = ${t}.id
          union select g.id from "group" g where ${t}.type = any(g.member_types))`,
        'self',
      ),
    ),
    ...owner('self'),
    field('_last_seen_at', 'date', 'last_seen_at', 'self'),
    ...times,
  ],
}

const message: RecordKind = {
  basetype: 'message',
  table: 'message',
  seen: 'all messages; it takes `system.message`',
  order: { field: 'message._id', descending: false },
  words: null,
  fields: [
    field('message._id', 'id', 'id'),
    field('message._version', 'number', 'version'),
    field('message.reference', 'text', 'reference'),
    field('message.title', 'l10n', 'title'),
    field('message.message', 'l10n', 'message'),
    field('message.confirmation', 'l10n', 'confirmation'),
    field('message.webfrontend_type', 'text', 'webfrontend_type'),
    field('message.confirm_every_version', 'boolean', 'confirm_every_version'),
    field('message.show_always', 'boolean', 'show_always'),
    list(field('message.client_ids', 'text', 'client_ids')),
    field('message.start_time.value', 'date', 'start_time'),
    field('message.end_time.value', 'date', 'end_time'),
    list(
      field(
        '_groups.group._id',
        'id',
        (t) => `array(select mg.group_id from message_group mg where mg.message_id = ${t}.id)`,
      ),
    ),
    ...times,
  ],
}

const eventWords = ['type', 'schema', 'basetype', 'objecttype', 'user_displayname', 'remote_addr', 'info']

const event: RecordKind = {
  basetype: 'event',
  table: 'event',
  seen: 'all events; it takes `system.api.event[get]`',
  order: { field: 'event._id', descending: true },
  words: { find: (t, words) => `event_words(${columns(t, eventWords)}) @> ${words}`, whole: () => 'true' },
  large: true,
  fields: [
    field('event._id', 'id', 'id'),
    repeated('event.type', 'type'),
    { ...field('event.timestamp', 'date', 'at'), ordered: true },
    field('event.pollable', 'boolean', 'pollable'),
    field('event.schema', 'text', 'schema'),
    repeated('event.basetype', 'basetype'),
    repeated('event.objecttype', 'objecttype'),
    field('event.object_id', 'id', 'object_id'),
    field('event.object_version', 'number', 'object_version'),
    field('event.system_object_id', 'id', 'system_object_id'),
    field('event.remote_addr', 'text', 'remote_addr'),
    field('event.user_generated_displayname', 'text', 'user_displayname'),
    field('user.user._id', 'id', 'user_id'),
    // Details of an event about a record are only for users who may see the record.
    list(
      field(
        'event.info_key',
        'text',
        (t) => `array(select jsonb_object_keys(case jsonb_typeof(${t}.info) when 'object' then ${t}.info end))`,
        'managers',
      ),
    ),
  ],
}

/** The kinds of records that each value of `type` searches. */
export const domains: Readonly<Record<DomainName, readonly RecordKind[]>> = {
  pool: [pool],
  collection: [collection],
  group: [group],
  user: [user],
  acl: [user, group],
  message: [message],
  event: [event],
}
