import { setTimeout as sleep } from 'node:timers/promises'
import type { Json } from '../test/support/client.ts'
import { link, museum, payload } from '../test/support/seed/museum.ts'
import type { Caller } from './caller.ts'
import type { RightsByLogin } from './gained.ts'
import type { Holder } from './holders.ts'
import { chessboard } from './picture.ts'
import { secretDate, secretNumber, secretOf } from './secrets.ts'

/** The data for the seeds: ids by name. Made through the API, once for a run. */
export interface World {
  objecttypes: Record<string, number>
  pools: { root: number; open: number; closed: number; half: number }
  groups: { staff: number; hidden: number }
  users: { limited: number; hidden: number; changer: number; masked: number }
  tags: { group: number; draft: number; done: number }
  transition: number
  /** System object ids. */
  objects: Record<string, number>
  /** `_id` within the type. */
  ids: Record<string, number>
  /** With renditions and a pyramid: the picture of the bridge, and one that only root can see. */
  pictures: { bridge: Picture; hidden: Picture }
  /** The callers with one right each, and their rights at the beginning; none before they are added. */
  holders: readonly Holder[]
  rights: RightsByLogin
}

export interface Picture {
  id: number
  hash: string
}

export const password = 'Fuzz-password-1'

/** The only fields of a work that the caller with limited masks can see. */
export const narrowMask = 'work__title_only'

const en = (text: string) => ({ 'en-US': text })
const toGroup = (id: number) => ({ who: { _basetype: 'group', group: { _id: id } } })
const rights = (names: string) => Object.fromEntries(names.split(' ').map((name) => [name, {}]))

export async function buildWorld(root: Caller): Promise<World> {
  await root.call('POST', '/config/system/config/password/blockclient', { attempts: 0 })
  await commitMuseum(root)
  const objecttypes = Object.fromEntries(
    (await root.call('GET', '/objecttype')).map(({ objecttype }: Json) => [objecttype.name, objecttype._id]),
  )
  const people = await addPeople(root)
  const pools = await addPools(root, people.groups.staff)
  const tags = await addTags(root)
  await grantTypes(root, objecttypes, people.groups.staff)
  const transition = await addTransition(root, people.groups.staff, tags.done)
  const pictures = {
    bridge: await addPicture(root, 'bridge.png', 'as shown'),
    hidden: await addPicture(root, `${secretOf('file')}.png`, secretOf('file')),
  }
  await describedInTheLog(root, 2)
  const { objects, ids } = await addObjects(root, pools, tags.draft, pictures)
  const half = await addHalf(root, pools.root, objecttypes.work ?? 0, pictures.hidden.id)
  objects.half = half.object
  ids.half = half.id
  return {
    objecttypes,
    pools: { ...pools, half: half.pool },
    groups: people.groups,
    users: { ...people.users, masked: half.user },
    tags,
    transition,
    objects,
    ids,
    pictures,
    holders: [],
    rights: {},
  }
}

/** Pictures are described in the background; other events logged meanwhile would have other ids in each run. */
async function describedInTheLog(root: Caller, pictures: number): Promise<void> {
  const deadline = performance.now() + 60_000
  const logged = async () => (await root.call('GET', '/event/list?type=FILE_METADATA&limit=10')).objects.length
  while ((await logged()) < pictures) {
    if (performance.now() > deadline) throw new Error('the metadata of the pictures are not read')
    await sleep(50)
  }
}

/** A picture with all its renditions, and a pyramid because it is large enough. */
async function addPicture(root: Caller, name: string, comment: string): Promise<Picture> {
  const query = new URLSearchParams({ filenames: JSON.stringify([name]), produce_versions: 'true' })
  const headers = { authorization: `Bearer ${root.token}`, 'content-type': 'image/png' }
  const target = `/api/v1/eas/put?${query}`
  const answer = await root.send({ method: 'POST', target, headers, body: chessboard(1040, 520, comment) })
  const [{ _id: id, hash }] = JSON.parse(answer.body.toString())
  for (let left = 600; left > 0; left--) {
    const { versions } = await root.call('GET', `/eas/${id}`)
    const states = Object.values<Json>(versions).map(({ status }) => status)
    if (states.length > 1 && states.every((status) => status === 'done')) return { id, hash }
    if (states.includes('failed') || states.includes('not_produced')) throw new Error(JSON.stringify(versions))
    await sleep(100)
  }
  throw new Error(`nothing is made of ${name}`)
}

/** A work whose title one caller can see, by the only mask that they may use. */
async function addHalf(root: Caller, above: number, workType: number, picture: number) {
  const [made] = await root.call('POST', '/user', [{ user: { login: 'masked' }, _password: password }])
  const user: number = made.user._id
  const { masks } = await root.call('GET', '/mask/CURRENT')
  const mask = masks.find((one: Json) => one.name === narrowMask).mask_id
  const limits = { mask_ids: { [workType]: [mask] } }
  const [{ pool }] = await root.call('POST', '/pool', [
    {
      pool: { _id_parent: above, name: en('Half') },
      _private_acl: true,
      _acl: [
        {
          who: { _basetype: 'user', user: { _id: user } },
          rights: {
            ...{ read: limits, write: limits, create: limits, delete: {}, link: {}, unlink: {}, bag_read: {} },
            ...{ asset_show: {}, asset_download: {} },
          },
        },
      ],
    },
  ])
  const block = {
    _pool: { pool: { _id: pool._id } },
    title: en('Half seen'),
    inventory: `QZ${secretNumber}`,
    note: `${secretOf('record')} note`,
    width: secretNumber,
    price: secretNumber,
    weight: secretNumber,
    signed: true,
    made: { value: secretDate },
    seen: { value: `${secretDate}T10:00:00Z` },
    period: { from: secretDate, to: '1372' },
    location: { type: 'Point', coordinates: [-0.7310917, 51] },
    image: [{ _id: picture }],
    '_nested:work__material': [{ name: secretOf('record'), amount: secretNumber }],
  }
  const [object] = await root.call('POST', '/db/work?await_index=30', [payload('work', block)])
  return { user, pool: pool._id, object: object._system_object_id, id: object.work._id }
}

async function commitMuseum(root: Caller): Promise<void> {
  const model = museum()
  const head = await root.call('GET', '/schema/user/HEAD')
  await root.call('POST', '/schema/user/HEAD', { ...model.schema, version: head.version })
  await root.call('POST', '/mask/HEAD', { ...model.masks, version: head.version })
  await root.call('POST', '/l10n/user/HEAD', { 'schema.work.name': en('Work') })
  await root.call('POST', '/schema/commit?confirm=yes&reindex=reindex')
}

async function addPeople(root: Caller): Promise<Pick<World, 'groups'> & { users: Omit<World['users'], 'masked'> }> {
  const [staff, hidden] = await root.call('POST', '/group', [
    { group: { name: 'staff', displayname: en('Staff') } },
    {
      group: {
        name: `g ${secretOf('group')}`,
        displayname: en(`Group ${secretOf('group')}`),
        comment: secretOf('group'),
      },
    },
  ])
  const [limited, other, changer] = await root.call('POST', '/user', [
    {
      user: { login: 'limited', email: 'limited@example.org', first_name: 'Lim' },
      _password: password,
      _groups: [{ group: { _id: staff.group._id } }],
    },
    {
      user: {
        login: `u-${secretOf('user')}`,
        email: `${secretOf('user')}@example.org`,
        first_name: secretOf('user'),
        remarks: secretOf('user'),
        phone: secretOf('user'),
      },
      _password: password,
    },
    { user: { login: 'changer' }, _password: password, _system_rights: { 'system.user.change_password': {} } },
  ])
  return {
    groups: { staff: staff.group._id, hidden: hidden.group._id },
    users: { limited: limited.user._id, hidden: other.user._id, changer: changer.user._id },
  }
}

async function addPools(root: Caller, staff: number): Promise<Omit<World['pools'], 'half'>> {
  const all = await root.call('GET', '/pool')
  const rootPool = all.find(({ pool }: Json) => !pool._id_parent).pool._id
  const [open] = await root.call('POST', '/pool', [
    {
      pool: { _id_parent: rootPool, name: en('Open'), shortname: en('open') },
      _private_acl: true,
      _acl: [
        {
          ...toGroup(staff),
          rights: {
            ...rights('bag_read read create write delete link unlink mask asset_show'),
            asset_download: { versions: ['image.original', 'image.small', 'image.zoom'] },
          },
        },
      ],
    },
  ])
  const [closed] = await root.call('POST', '/pool', [
    {
      pool: {
        _id_parent: rootPool,
        name: en(`Closed ${secretOf('pool')}`),
        description: en(secretOf('pool')),
        comment: secretOf('pool'),
      },
      _private_acl: true,
    },
  ])
  return { root: rootPool, open: open.pool._id, closed: closed.pool._id }
}

async function addTags(root: Caller): Promise<World['tags']> {
  const [group] = await root.call('POST', '/tags', [
    {
      taggroup: { displayname: en('State'), reference: 'state', type: 'checkbox' },
      _tags: [{ displayname: en('Draft'), reference: 'draft' }, { displayname: en('Done') }],
    },
  ])
  const [draft, done] = group._tags
  return { group: group.taggroup._id, draft: draft._id, done: done._id }
}

/** Types without pools have their grants on the type: staff may use places and topics, but not persons. */
async function grantTypes(root: Caller, objecttypes: Record<string, number>, staff: number): Promise<void> {
  const stored = await root.call('GET', '/objecttype')
  const granted = ['place', 'topic'].map((name) => {
    const { objecttype } = stored.find((one: Json) => one.objecttype._id === objecttypes[name])
    return {
      objecttype: { _id: objecttype._id, _version: objecttype._version + 1 },
      _acl: [{ ...toGroup(staff), rights: rights('read create write delete mask link') }],
    }
  })
  await root.call('POST', '/objecttype', granted)
}

async function addTransition(root: Caller, staff: number, tag: number): Promise<number> {
  const [first] = await root.call('POST', '/transitions', [
    {
      type: 'process',
      trigger: 'manual',
      displayname: en('Finish'),
      who: [{ _basetype: 'group', group: { _id: staff } }],
      actions: [{ type: 'set_tags', info: { tags: [{ _id: tag, set: true }] } }],
    },
  ])
  return first._id
}

async function addObjects(
  root: Caller,
  pools: Omit<World['pools'], 'half'>,
  tag: number,
  pictures: World['pictures'],
): Promise<Pick<World, 'objects' | 'ids'>> {
  const objects: Record<string, number> = {}
  const ids: Record<string, number> = {}
  const add = async (type: string, blocks: Record<string, object>, rest: object = {}): Promise<void> => {
    const body = Object.values(blocks).map((block) => payload(type, block, rest))
    const saved = await root.call('POST', `/db/${type}?await_index=30`, body)
    for (const [index, name] of Object.keys(blocks).entries()) {
      objects[name] = saved[index]._system_object_id
      ids[name] = saved[index][type]._id
    }
  }
  const to = (type: string, name: string) => link(type, objects[name] ?? 0)
  await add('person', {
    blake: { name: `Blake ${secretOf('person')}`, reference: `${secretOf('person')}-1`, born: { value: '1757' } },
    turner: { name: `Turner ${secretOf('person')}`, reference: `${secretOf('person')}-2` },
  })
  await add('place', { europe: { name: { 'en-US': 'Europe', 'de-DE': 'Europa' }, code: 'EU' } })
  await add('place', { london: { name: en('London'), code: 'LON', 'lookup:_id_parent': { code: 'EU' } } })
  await add('topic', { people: { name: 'people' }, nature: { name: 'nature' } })
  await add('topic', { swimmer: { name: 'swimmer', _parents: [to('topic', 'people'), to('topic', 'nature')] } })
  const inPool = (id: number) => ({ _pool: { pool: { _id: id } } })
  await add(
    'work',
    {
      bridge: {
        ...inPool(pools.open),
        title: { 'en-US': 'Westminster Bridge', 'de-DE': 'Die Brücke' },
        inventory: 'N10',
        note: 'Oil paint on canvas',
        width: 100,
        price: 1250,
        weight: 0.5,
        signed: true,
        made: { value: '1803' },
        seen: { value: '2020-03-01T10:00:00+01:00' },
        period: { from: '1803', to: '1805' },
        place: to('place', 'london'),
        location: { type: 'Point', coordinates: [-0.12, 51.5] },
        image: [{ _id: pictures.bridge.id }],
        '_nested:work__material': [{ name: 'oil', amount: 3, origin: to('place', 'london') }, { name: 'canvas' }],
        '_nested:work__topic': [{ topic: to('topic', 'swimmer') }],
      },
      dawn: { ...inPool(pools.open), title: en('Dawn'), inventory: 'N2', width: 20, place: to('place', 'europe') },
    },
    { _tags: [{ _id: tag }] },
  )
  await add(
    'work',
    {
      vault: {
        ...inPool(pools.closed),
        title: { 'en-US': `Vault ${secretOf('record')}`, 'de-DE': secretOf('record') },
        inventory: 'X77',
        note: secretOf('record'),
        width: 777,
        image: [{ _id: pictures.hidden.id }],
        creator: to('person', 'blake'),
        place: to('place', 'london'),
        '_nested:work__material': [{ name: secretOf('record'), amount: 3 }],
      },
    },
    { _comment: secretOf('record') },
  )
  await add('loan', { loan: { borrower: 'Tate', due: { value: '2030-01-01' }, work: to('work', 'bridge') } })
  return { objects, ids }
}
