import { createServiceClient, type ServiceClient } from '../src/import/client.ts'
import { type Context, openContext } from './context.ts'
import { atMost, figureOnly, type Row } from './report.ts'
import { commitTypes, field, value } from './types.ts'

const batch = 500
const rounds = 15

/**
 * Searches in records beside searches in as many objects that have the same texts in plain fields: users with a name and one of
 * some companies, users and groups together, and the events of the objects; by root, by callers with exactly the right that the
 * records ask for, and by one who reads half of the users as members of a group. Each search has a condition that no other one has.
 */
export async function measureDomains(source: string, records: number, say: (line: string) => void): Promise<Row[]> {
  const context = await openContext(source, say)
  try {
    const callers = await createCallers(context)
    await fill(context, records, callers.group)
    return await compare(context, records, callers)
  } finally {
    await context.close()
  }
}

interface Callers {
  readonly root: ServiceClient
  /** Manages users. */
  readonly manager: ServiceClient
  /** Reads the members of a group. */
  readonly reader: ServiceClient
  /** Reads the log. */
  readonly clerk: ServiceClient
  /** The group that the reader reads. */
  readonly group: number
}

async function createCallers({ client, service }: Context): Promise<Callers> {
  const _password = 'bench-caller-password'
  const rights: Record<string, object> = {
    manager: { 'system.user': {} },
    reader: {},
    clerk: { 'system.api.event': { get: true } },
  }
  const made = await client.post<{ user: { _id: number; login: string } }[]>(
    '/user',
    Object.entries(rights).map(([login, _system_rights]) => ({ user: { login }, _password, _system_rights })),
  )
  const reader = made.find(({ user }) => user.login === 'reader')?.user._id
  const who = { _basetype: 'user', user: { _id: reader } }
  const [stored] = await client.post<{ group: { _id: number } }[]>('/group', [
    { group: { name: 'bench' }, _acl: [{ who, rights: { bag_read: {} } }] },
  ])
  const as = (login: string) => createServiceClient({ url: service.url, login, password: _password })
  return {
    root: client,
    manager: as('manager'),
    reader: as('reader'),
    clerk: as('clerk'),
    group: stored?.group._id as number,
  }
}

const nameOf = (at: number): string => `name${at % 100} ${at % 10 === 0 ? 'common' : `rare${at}`}`
const companyOf = (at: number): string => `company ${at % 300}`

async function fill(context: Context, records: number, group: number): Promise<void> {
  await commitTypes(context, [table], [mask])
  const { client } = context
  for (let at = 0; at < records; at += batch) {
    const numbers = Array.from({ length: Math.min(batch, records - at) }, (_, index) => at + index)
    await client.post(
      '/db/bench_person',
      numbers.map((number) => ({
        _objecttype: 'bench_person',
        _mask: 'bench_person',
        bench_person: { last_name: nameOf(number), company: companyOf(number) },
      })),
      { format: 'short' },
    )
    await client.post(
      '/user',
      numbers.map((number) => ({
        user: { login: `person${number}`, last_name: nameOf(number), company: companyOf(number) },
        // Half of the users with each name are in the group.
        _groups: number % 20 < 10 ? [{ group: { _id: group } }] : [],
      })),
    )
  }
  const all = { objecttypes: ['bench_person'], limit: 0 }
  while ((await found(context, all)) < records) await new Promise((resolve) => setTimeout(resolve, 200))
}

async function compare({ client }: Context, records: number, callers: Callers): Promise<Row[]> {
  const rows: Row[] = [figureOnly('domains: users, and objects with the same texts', records, 'each')]
  for (const { name, request, events } of searches) {
    const objects = await median(client, { objecttypes: ['bench_person'], ...request('bench_person') })
    rows.push(figureOnly(`domains: ${name} (${objects.count} found), objects`, objects.ms, 'ms'))
    const others: [name: string, caller: ServiceClient, request: object][] = [
      ['users', callers.root, { type: 'user', ...request('user') }],
      ['users, by a manager of users', callers.manager, { type: 'user', ...request('user') }],
      ['users, by a reader of half of them', callers.reader, { type: 'user', ...request('user') }],
      ['users and groups', callers.root, { type: 'acl', ...request('user') }],
      ...(events
        ? ([
            ['events', callers.root, { type: 'event', ...events }],
            ['events, by a reader of the log', callers.clerk, { type: 'event', ...events }],
          ] as [string, ServiceClient, object][])
        : []),
    ]
    for (const [whose, caller, each] of others) {
      const own = await median(caller, each)
      if (whose === 'users' && Math.abs(own.count - objects.count) > few)
        throw new Error(`${name}: ${objects.count} objects and ${own.count} users are found`)
      rows.push(atMost(`  ${whose} (${own.count} found)`, Math.max(2 * objects.ms, 20), own.ms, 'ms'))
    }
  }
  return rows
}

/** Users that every instance has. */
const few = 20

interface Search {
  readonly name: string
  readonly request: (prefix: string) => object
  /** The search in events that is compared with it. */
  readonly events?: object
}

const text = (name: string, string: string): object => ({ search: [{ type: 'text', string, fields: [name] }] })
const sort = (name: string): object => ({ sort: [{ field: name }], limit: 50 })
const facet = (name: string): object => ({ aggregations: { values: { type: 'term', field: name } } })

const searches: readonly Search[] = [
  { name: 'a rare word', request: (type) => text(`${type}.last_name`, 'rare77') },
  {
    name: 'a common word',
    request: (type) => text(`${type}.last_name`, 'common'),
    events: text('event.objecttype', 'bench_person'),
  },
  { name: 'an order by text, a page of 50', request: (type) => sort(`${type}.last_name`) },
  {
    name: 'a common word of all texts',
    request: () => ({ search: [{ type: 'text', string: 'common' }] }),
    events: { search: [{ type: 'text', string: 'bench_person' }] },
  },
  {
    name: 'the usual order, a page of 50',
    request: () => ({ limit: 50 }),
    events: { ...sort('event.timestamp') },
  },
  {
    name: 'a facet',
    request: (type) => facet(`${type}.company`),
    events: facet('event.type'),
  },
]

let unseen = 0

async function median(client: ServiceClient, request: object): Promise<{ ms: number; count: number }> {
  const times: number[] = []
  let count = 0
  for (let round = 0; round < rounds; round++) {
    const { search = [], type, ...rest } = request as { search?: object[]; type?: string }
    const id = type ? `${type === 'acl' ? 'user' : type}._id` : '_system_object_id'
    const own = { type: 'in', bool: 'must_not', fields: [id], in: [-++unseen] }
    const begun = performance.now()
    const answer = await client.post<{ count: number }>('/search', {
      ...(type ? { type } : { format: 'short' }),
      limit: 10,
      ...rest,
      search: [...search, own],
    })
    times.push(performance.now() - begun)
    count = answer.count
  }
  times.sort((a, b) => a - b)
  return { ms: times[rounds >> 1] as number, count }
}

async function found({ client }: Context, request: object): Promise<number> {
  return (await client.post<{ count: number }>('/search', request)).count
}

const table = {
  name: 'bench_person',
  in_main_search: true,
  columns: [value('last_name', 'text_oneline'), value('company', 'text_oneline')],
}

const company = field('company')
const mask = {
  name: 'bench_person',
  table_name_hint: 'bench_person',
  is_preferred: true,
  fields: [field('last_name', true), { ...company, search: { ...company.search, facet: true } }],
}
