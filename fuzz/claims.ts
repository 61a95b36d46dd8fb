import type { Json } from '../test/support/client.ts'
import type { Scene, SeedRequest } from './seeds.ts'

/** A request by which a user would gain rights, if it were carried out without a check. */
export interface Claim {
  readonly operationId: string
  make(scene: Scene, me: number): Promise<SeedRequest>
}

const all = (names: string) => Object.fromEntries(names.split(' ').map((name) => [name, { _grantable: true }]))
const recordRights = all('read write delete unlink acl change_owner mask asset_show asset_download')
const user = (me: number) => ({ _basetype: 'user', user: { _id: me } })
const grant = (me: number, rights: object) => ({ who: user(me), rights })
const toMe = (me: number) => ({
  type: 'process',
  trigger: 'automatic',
  operations: ['INSERT', 'UPDATE'],
  who: [{ _basetype: 'user', user: { _id: 1 } }],
  actions: [{ type: 'change_owner', info: { owner: user(me) } }],
})

type Members = (me: number, scene: Scene, stored: Json) => object

const claimOfPool = (
  name: 'closed' | 'root' | 'half',
  members: Members,
  ofPool: (me: number) => object = () => ({}),
) => ({
  operationId: 'savePools',
  make: async (scene: Scene, me: number) => {
    const [stored] = await scene.root.call('GET', `/pool/${scene.world.pools[name]}`)
    const pool = { _id: stored.pool._id, _version: stored.pool._version, ...ofPool(me) }
    return { body: [{ pool, ...members(me, scene, stored) }] }
  },
})

const claimOfUser = (id: (me: number, scene: Scene) => number, members: Members, ofUser: object = {}): Claim => ({
  operationId: 'saveUsers',
  make: async (scene, me) => {
    const [stored] = await scene.root.call('GET', `/user/${id(me, scene)}`)
    const { _id, _version } = stored.user
    return { body: [{ user: { _id, _version, ...ofUser }, ...members(me, scene, stored) }] }
  },
})

const claimOfGroup = (name: 'staff' | 'hidden', members: Members): Claim => ({
  operationId: 'saveGroups',
  make: async (scene, me) => {
    const [stored] = await scene.root.call('GET', `/group/${scene.world.groups[name]}`)
    const { _id, _version } = stored.group
    return { body: [{ group: { _id, _version }, ...members(me, scene, stored) }] }
  },
})

const claimOfObject = (
  name: 'vault' | 'blake',
  type: 'work' | 'person',
  members: (me: number, scene: Scene) => object,
): Claim => ({
  operationId: 'saveObjects',
  make: async (scene, me) => {
    const [stored] = await scene.root.call('GET', `/db/${type}/_all_fields/${scene.world.ids[name]}`)
    const { _id, _version, name: text } = stored[type]
    const block = { _id, _version, ...(text ? { name: text } : {}) }
    const mask = `${type}__standard`
    return {
      path: { objecttype: type },
      body: [{ _objecttype: type, _mask: mask, [type]: block, ...members(me, scene) }],
    }
  },
})

const self = (me: number) => me
const hiddenUser = (_: number, { world }: Scene) => world.users.hidden
const maskedUser = (_: number, { world }: Scene) => world.users.masked
const bagRights = all('bag_read bag_write bag_acl bag_create bag_delete create')

export const claims: readonly Claim[] = [
  claimOfPool('closed', (me) => ({ _acl: [grant(me, { ...bagRights, ...recordRights })] })),
  claimOfPool('closed', (me, _, stored) => ({ _acl: [...stored._acl, grant(me, recordRights)] })),
  claimOfPool('closed', () => ({ _private_acl: false })),
  claimOfPool('closed', (me) => ({ _owner: user(me) })),
  claimOfPool(
    'closed',
    () => ({}),
    (me) => ({ contact: user(me) }),
  ),
  claimOfPool('closed', (me) => ({ _transitions: [toMe(me)] })),
  claimOfPool('half', (me) => ({ _transitions: [toMe(me)] })),
  claimOfPool('root', (me) => ({ _acl: [grant(me, { ...bagRights, ...recordRights })] })),
  {
    operationId: 'savePools',
    make: async ({ world, fresh }, me) => ({
      body: [
        {
          pool: {
            _id_parent: world.pools.closed,
            name: { 'en-US': 'Below' },
            reference: `below${fresh()}`,
            contact: user(me),
          },
          _acl: [grant(me, { ...bagRights, ...recordRights })],
        },
      ],
    }),
  },
  {
    operationId: 'saveObjecttypes',
    make: async ({ root, world }, me) => {
      const [{ objecttype }] = await root.call('GET', `/objecttype/${world.objecttypes.person}`)
      const { _id, _version } = objecttype
      const _acl = [grant(me, { ...all('create'), ...recordRights })]
      return { body: [{ objecttype: { _id, _version: _version + 1 }, _acl }] }
    },
  },
  {
    operationId: 'saveObjecttypes',
    make: async ({ root, world }, me) => {
      const [{ objecttype }] = await root.call('GET', `/objecttype/${world.objecttypes.work}`)
      const { _id, _version } = objecttype
      return { body: [{ objecttype: { _id, _version: _version + 1 }, _transitions: [toMe(me)] }] }
    },
  },
  claimOfUser(self, () => ({ _system_rights: { 'system.root': {} } })),
  claimOfUser(self, (_, __, stored) => ({ _system_rights: { ...stored._system_rights, 'system.config': {} } })),
  claimOfUser(self, (_, { world }) => ({ _groups: [{ group: { _id: world.groups.staff } }] })),
  claimOfUser(self, (_, { world }) => ({ _groups: [{ group: { _id: world.groups.hidden } }] })),
  claimOfUser(hiddenUser, (me) => ({ _owner: user(me) })),
  claimOfUser(hiddenUser, (me) => ({ _acl: [grant(me, all('bag_read bag_write acl delete link sessions'))] })),
  claimOfUser(maskedUser, () => ({ _password: 'Another-password-1' })),
  claimOfUser(maskedUser, () => ({}), { email: 'taken@example.org', login: 'taken' }),
  claimOfGroup('staff', (me) => ({ _acl: [grant(me, all('bag_read bag_write acl delete link'))] })),
  claimOfGroup('hidden', (me) => ({ _acl: [grant(me, all('bag_read bag_write acl delete link'))] })),
  claimOfGroup('hidden', (me) => ({ _owner: user(me) })),
  claimOfGroup('hidden', () => ({ _system_rights: { 'system.root': {} } })),
  claimOfObject('vault', 'work', (me) => ({ _owner: user(me) })),
  claimOfObject('vault', 'work', (me) => ({ _acl: [grant(me, recordRights)] })),
  claimOfObject('vault', 'work', (_, { world }) => ({ _tags: [{ _id: world.tags.done }] })),
  claimOfObject('blake', 'person', (me) => ({ _owner: user(me) })),
  {
    operationId: 'saveTransitions',
    make: async ({ root }, me) => ({ body: [...(await root.call('GET', '/transitions')), toMe(me)] }),
  },
  {
    operationId: 'saveTags',
    make: async ({ root }, me) => {
      const stored: Json[] = await root.call('GET', '/tags')
      for (const { _tags } of stored) for (const tag of _tags) tag._acl = [grant(me, all('tag_see tag_add tag_remove'))]
      return { body: stored }
    },
  },
  {
    operationId: 'saveObjects',
    make: async ({ world, fresh }, me) => ({
      path: { objecttype: 'work' },
      body: [
        {
          _objecttype: 'work',
          _mask: 'work__standard',
          _owner: user(me),
          work: {
            _pool: { pool: { _id: world.pools.closed } },
            title: { 'en-US': 'Claimed' },
            inventory: `C${fresh()}`,
          },
        },
      ],
    }),
  },
  {
    operationId: 'createEvents',
    make: async ({ world }) => ({
      body: [{ event: { type: 'DETAIL_VIEW', system_object_id: world.objects.vault, objecttype: 'work' } }],
    }),
  },
]

/** Root goes on with its work, so that settings made by other users take effect on it. */
export async function rootGoesOn({ root, world, fresh }: Scene): Promise<void> {
  const touch = async (name: string, type: string, column: string, value: unknown) => {
    const [stored] = await root.call('GET', `/db/${type}/_all_fields/${world.ids[name]}`)
    const block = { _id: stored[type]._id, _version: stored[type]._version, [column]: value }
    const body = [{ _objecttype: type, _mask: '_all_fields', [type]: block }]
    await root.call('POST', `/db/${type}?confirm=skip&priority=1`, body)
  }
  await Promise.all(
    [
      touch('vault', 'work', 'width', fresh()),
      touch('half', 'work', 'price', 7310917),
      touch('bridge', 'work', 'width', fresh()),
      touch('blake', 'person', 'born', { value: `${1000 + fresh()}` }),
    ].map((one) => one.catch(() => null)),
  )
}
