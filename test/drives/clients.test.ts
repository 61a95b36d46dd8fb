import assert from 'node:assert/strict'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { after, before, suite, test } from 'node:test'
import { picture } from '../files/support.ts'
import { until } from '../support/until.ts'
import { type Collected, hrefs, namesIn, setShares, startDrives } from './support.ts'

/**
 * What the clients of desktops send, as is publicly known of them: their requests in their order, with the properties that they ask
 * for and the files that they look for, on both shares. Each expects the same of any server.
 */
interface Step {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** `content`: that of the photograph, announced with its length; `chunked`: the same, without. */
  readonly body?: string | 'content' | 'chunked'
  /** Statuses that let the client go on; `drive` and `hotfolder` where they differ. */
  readonly status: number | { readonly drive: number; readonly hotfolder: number }
  /** Names that the answer lists besides the folder. */
  readonly lists?: readonly string[]
  /** What stands in the answer. */
  readonly has?: RegExp
}

interface Client {
  readonly name: string
  readonly agent: string
  readonly steps: readonly Step[]
}

const xml = (body: string): string => `<?xml version="1.0" encoding="utf-8" ?>${body}`
const lockXml = (owner: string): string =>
  xml(
    `<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype><D:owner>${owner}</D:owner></D:lockinfo>`,
  )
const asks = (...names: string[]): string =>
  xml(`<D:propfind xmlns:D="DAV:"><D:prop>${names.map((name) => `<D:${name}/>`).join('')}</D:prop></D:propfind>`)

const finderAsks = asks('getlastmodified', 'getcontentlength', 'creationdate', 'resourcetype')
const look = (path: string, status: Step['status']): Step => ({
  method: 'PROPFIND',
  path,
  headers: { Depth: '0', 'Content-Type': 'text/xml' },
  body: finderAsks,
  status,
})

const finder: Client = {
  name: 'Finder',
  agent: 'WebDAVFS/3.0.0 (03008000) Darwin/23.6.0 (arm64)',
  steps: [
    { method: 'OPTIONS', path: '', status: 200 },
    look('', 207),
    {
      method: 'PROPFIND',
      path: '',
      headers: { Depth: '0' },
      body: asks('quota-available-bytes', 'quota-used-bytes', 'quota', 'quotaused'),
      status: 207,
      has: /404 Not Found/,
    },
    look('.metadata_never_index', 404),
    look('.Spotlight-V100', 404),
    look('.hidden', 404),
    look('._.', 404),
    look('.DS_Store', 404),
    { method: 'PROPFIND', path: '', headers: { Depth: '1' }, body: finderAsks, status: 207, lists: [] },
    look('photo.jpg', 404),
    { method: 'PUT', path: 'photo.jpg', headers: { 'Content-Length': '0' }, status: 201 },
    look('photo.jpg', 207),
    {
      method: 'LOCK',
      path: 'photo.jpg',
      headers: { Depth: '0', Timeout: 'Second-600', 'Content-Type': 'text/xml; charset="utf-8"' },
      body: lockXml('<D:href>http://www.apple.com/webdav_fs/</D:href>'),
      status: 201,
      has: /<D:locktoken>/,
    },
    // Resource forks have no place here: Finder goes on without.
    {
      method: 'PUT',
      path: '._photo.jpg',
      headers: { 'Content-Length': '0' },
      status: 400,
      has: /DotFilenameNotAllowed/,
    },
    look('._photo.jpg', 404),
    {
      method: 'PUT',
      path: 'photo.jpg',
      headers: { If: '(<{token}>)', 'X-Expected-Entity-Length': '{length}' },
      body: 'chunked',
      status: { drive: 201, hotfolder: 204 },
    },
    look('photo.jpg', 207),
    { method: 'UNLOCK', path: 'photo.jpg', headers: { 'Lock-Token': '<{token}>' }, status: 204 },
    { method: 'PROPFIND', path: '', headers: { Depth: '1' }, body: finderAsks, status: 207, lists: ['photo.jpg'] },
  ],
}

const win32 = (properties: string): string =>
  xml(
    `<D:propertyupdate xmlns:D="DAV:" xmlns:Z="urn:schemas-microsoft-com:"><D:set><D:prop>${properties}</D:prop></D:set></D:propertyupdate>`,
  )

const explorer: Client = {
  name: 'Windows Explorer',
  agent: 'Microsoft-WebDAV-MiniRedir/10.0.22631',
  steps: [
    { method: 'OPTIONS', path: '', headers: { translate: 'f' }, status: 200 },
    { method: 'PROPFIND', path: '', headers: { Depth: '0', translate: 'f', 'Content-Length': '0' }, status: 207 },
    {
      method: 'PROPFIND',
      path: '',
      headers: { Depth: '1', translate: 'f', 'Content-Length': '0' },
      status: 207,
      lists: [],
    },
    { method: 'PROPFIND', path: 'desktop.ini', headers: { Depth: '0', 'Content-Length': '0' }, status: 404 },
    { method: 'PROPFIND', path: 'AutoRun.inf', headers: { Depth: '0', 'Content-Length': '0' }, status: 404 },
    { method: 'PROPFIND', path: 'photo.jpg', headers: { Depth: '0', 'Content-Length': '0' }, status: 404 },
    { method: 'PUT', path: 'photo.jpg', headers: { translate: 'f', 'Content-Length': '0' }, status: 201 },
    {
      method: 'LOCK',
      path: 'photo.jpg',
      headers: { Timeout: 'Second-3600', translate: 'f' },
      body: lockXml('<D:href>STUDIO\\ada</D:href>'),
      status: 201,
      has: /Second-3600/,
    },
    {
      method: 'PROPPATCH',
      path: 'photo.jpg',
      headers: { If: '(<{token}>)' },
      body: win32(
        '<Z:Win32CreationTime>Thu, 26 Nov 2026 04:00:00 GMT</Z:Win32CreationTime><Z:Win32LastModifiedTime>Thu, 26 Nov 2026 04:00:00 GMT</Z:Win32LastModifiedTime><Z:Win32FileAttributes>00000000</Z:Win32FileAttributes>',
      ),
      status: 207,
      has: /200 OK/,
    },
    { method: 'HEAD', path: 'photo.jpg', status: 200 },
    {
      method: 'PUT',
      path: 'photo.jpg',
      headers: { If: '(<{token}>)', translate: 'f' },
      body: 'content',
      status: { drive: 201, hotfolder: 204 },
    },
    {
      method: 'PROPPATCH',
      path: 'photo.jpg',
      headers: { If: '(<{token}>)' },
      body: win32('<Z:Win32FileAttributes>00000020</Z:Win32FileAttributes>'),
      status: 207,
    },
    { method: 'UNLOCK', path: 'photo.jpg', headers: { 'Lock-Token': '<{token}>' }, status: 204 },
    { method: 'MKCOL', path: 'New%20folder', status: 201 },
    {
      method: 'MOVE',
      path: 'New%20folder',
      headers: { Destination: '{base}Ships', Overwrite: 'F' },
      status: 201,
    },
    {
      method: 'PROPFIND',
      path: '',
      headers: { Depth: '1', 'Content-Length': '0' },
      status: 207,
      lists: ['Ships', 'photo.jpg'],
    },
    { method: 'DELETE', path: 'Ships', status: 204 },
  ],
}

const davfs2Asks = xml(
  '<propfind xmlns="DAV:"><prop><resourcetype xmlns="DAV:"/><getcontentlength xmlns="DAV:"/><getetag xmlns="DAV:"/><getlastmodified xmlns="DAV:"/><executable xmlns="http://apache.org/dav/props/"/></prop></propfind>',
)

const davfs2: Client = {
  name: 'davfs2',
  agent: 'davfs2/1.7.0 neon/0.33.0',
  steps: [
    { method: 'OPTIONS', path: '', status: 200 },
    { method: 'PROPFIND', path: '', headers: { Depth: '0' }, body: davfs2Asks, status: 207 },
    { method: 'PROPFIND', path: '', headers: { Depth: '1' }, body: davfs2Asks, status: 207, lists: [] },
    { method: 'HEAD', path: 'photo.jpg', status: 404 },
    // The name is taken with its lock.
    {
      method: 'LOCK',
      path: 'photo.jpg',
      headers: { Depth: '0', Timeout: 'Second-1200' },
      body: lockXml('ada'),
      status: 201,
    },
    {
      method: 'PUT',
      path: 'photo.jpg',
      headers: { If: '<{base}photo.jpg> (<{token}>)' },
      body: 'content',
      status: { drive: 201, hotfolder: 204 },
    },
    { method: 'HEAD', path: 'photo.jpg', status: 200 },
    {
      method: 'PROPPATCH',
      path: 'photo.jpg',
      headers: { If: '<{base}photo.jpg> (<{token}>)' },
      body: xml(
        '<propertyupdate xmlns="DAV:"><set><prop><executable xmlns="http://apache.org/dav/props/">F</executable></prop></set></propertyupdate>',
      ),
      status: 207,
    },
    { method: 'LOCK', path: 'photo.jpg', headers: { If: '(<{token}>)', Timeout: 'Second-1200' }, status: 200 },
    { method: 'UNLOCK', path: 'photo.jpg', headers: { 'Lock-Token': '<{token}>' }, status: 204 },
    { method: 'PROPFIND', path: '', headers: { Depth: '1' }, body: davfs2Asks, status: 207, lists: ['photo.jpg'] },
  ],
}

const gvfsAsks = asks(
  'creationdate',
  'displayname',
  'getcontentlength',
  'getcontenttype',
  'getetag',
  'getlastmodified',
  'resourcetype',
)
const gvfsHeaders = { 'Apply-To-Redirect-Ref': 'T' }

const gvfs: Client = {
  name: 'GNOME gvfs',
  agent: 'gvfs/1.54.2',
  steps: [
    { method: 'OPTIONS', path: '', status: 200 },
    { method: 'PROPFIND', path: '', headers: { ...gvfsHeaders, Depth: '0' }, body: gvfsAsks, status: 207 },
    {
      method: 'PROPFIND',
      path: '',
      headers: { ...gvfsHeaders, Depth: '0' },
      body: asks('quota-available-bytes', 'quota-used-bytes'),
      status: 207,
    },
    { method: 'PROPFIND', path: '', headers: { ...gvfsHeaders, Depth: '1' }, body: gvfsAsks, status: 207, lists: [] },
    { method: 'PROPFIND', path: '.hidden', headers: { Depth: '0' }, body: gvfsAsks, status: 404 },
    { method: 'PROPFIND', path: '.Trash', headers: { Depth: '0' }, body: gvfsAsks, status: 404 },
    { method: 'PROPFIND', path: 'photo.jpg', headers: { Depth: '0' }, body: gvfsAsks, status: 404 },
    { method: 'PUT', path: 'photo.jpg', headers: { 'If-None-Match': '*' }, body: 'content', status: 201 },
    { method: 'PUT', path: 'photo.jpg', headers: { 'If-None-Match': '*' }, body: 'content', status: 412 },
    { method: 'PROPFIND', path: 'photo.jpg', headers: { Depth: '0' }, body: gvfsAsks, status: 207, has: /getetag/ },
    { method: 'MKCOL', path: 'Untitled%20Folder/', status: 201 },
    {
      method: 'MOVE',
      path: 'Untitled%20Folder',
      headers: { Destination: '{base}Ships', Overwrite: 'F' },
      status: 201,
    },
    { method: 'DELETE', path: 'Ships/', status: 204 },
    { method: 'PROPFIND', path: '', headers: { Depth: '1' }, body: gvfsAsks, status: 207, lists: ['photo.jpg'] },
  ],
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

/** Sends what a client sends: no header but those of the sequence. */
async function send(base: string, step: Step, headers: Record<string, string>, body: string | Buffer): Promise<Answer> {
  const url = new URL(`${base}${step.path}`)
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const length = step.body === 'chunked' || 'Content-Length' in headers ? {} : { 'Content-Length': `${body.length}` }
  const sent = httpRequest(url, { method: step.method, headers: { ...headers, ...length } }, (answer) => {
    const pieces: Buffer[] = []
    answer.on('data', (piece: Buffer) => pieces.push(piece))
    answer.on('end', () =>
      resolve({
        status: answer.statusCode ?? 0,
        headers: answer.headers,
        text: Buffer.concat(pieces).toString(),
      }),
    )
  })
  sent.on('error', reject)
  if (body.length > 0) sent.write(body)
  sent.end()
  return promise
}

suite('the requests of desktops', () => {
  let drives: Awaited<ReturnType<typeof startDrives>>
  before(async () => {
    drives = await startDrives()
  })
  after(() => drives.svc[Symbol.asyncDispose]())

  const shares = ['drive', 'hotfolder'] as const

  async function replay({ agent, steps }: Client, made: Collected, share: (typeof shares)[number], content: Buffer) {
    const base = made[share]
    let token = ''
    for (const [index, step] of steps.entries()) {
      const where = `${index}: ${step.method} ${step.path}`
      const filled = (text: string): string =>
        text.replaceAll('{token}', token).replaceAll('{base}', base).replaceAll('{length}', `${content.length}`)
      const headers = Object.fromEntries(
        Object.entries({ 'User-Agent': agent, ...step.headers }).map(([name, value]) => [name, filled(value)]),
      )
      const body = step.body === 'content' || step.body === 'chunked' ? content : (step.body ?? '')
      const answer = await send(base, step, headers, body)
      const expected = typeof step.status === 'number' ? step.status : step.status[share]
      assert.equal(answer.status, expected, `${where}: ${answer.text}`)
      if (step.method === 'OPTIONS') {
        // Without class 2 desktops mount for reading only.
        assert.equal(answer.headers.dav, '1, 2')
        for (const method of ['PROPFIND', 'LOCK', 'UNLOCK', 'PUT', 'MKCOL']) {
          assert.match(answer.headers.allow ?? '', new RegExp(`\\b${method}\\b`))
        }
      }
      if (step.method === 'LOCK')
        token = /opaquelocktoken:[0-9a-f-]+/.exec(`${answer.headers['lock-token']}`)?.[0] ?? ''
      if (step.has) assert.match(answer.text, step.has, where)
      if (step.lists) assert.deepEqual(hrefs(answer.text).slice(1).toSorted(), step.lists, where)
    }
  }

  for (const client of [finder, explorer, davfs2, gvfs]) {
    test(`${client.name} mounts both shares, looks for its own files, and uploads a photograph`, async () => {
      const { svc } = drives
      const content = await picture()
      const made = await drives.collection()
      await setShares(svc, { read_write_access: true, hotfolder: true, hotfolder_wait_sec: 3600 })
      await replay(client, made, 'drive', content)
      assert.deepEqual(await namesIn(svc, made.id), [['photo.jpg']])
      const got = await fetch(`${made.drive}photo.jpg`)
      assert.deepEqual(Buffer.from(await got.arrayBuffer()), content)
      const dropped = await drives.collection()
      await replay(client, dropped, 'hotfolder', content)
      assert.deepEqual(await namesIn(svc, dropped.id), [])
      await setShares(svc, { read_write_access: true, hotfolder: true, hotfolder_wait_sec: 1 })
      await until(async () => (await namesIn(svc, dropped.id)).length > 0)
      assert.deepEqual(await namesIn(svc, dropped.id), [['photo.jpg']])
      const copy = await fetch(`${dropped.drive}photo.jpg`)
      assert.deepEqual(Buffer.from(await copy.arrayBuffer()), content)
    })
  }
})
