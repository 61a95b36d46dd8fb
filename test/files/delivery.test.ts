import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSignatures } from '../../src/files/addresses/signatures.ts'
import { createFileSystemStore } from '../../src/files/blobs/file-system.ts'
import { createDerivedDownloads } from '../../src/files/delivery/derived-download.ts'
import { nameFrom } from '../../src/files/delivery/file-names.ts'
import { readRange } from '../../src/files/delivery/ranges.ts'
import { readTransformRequest } from '../../src/files/delivery/transform-request.ts'
import { originalOf } from '../../src/files/model.ts'
import { readFiles } from '../../src/files/records/store.ts'
import { noMarks } from '../../src/files/renditions/recipes/marks.ts'
import { createWorkFolders } from '../../src/files/renditions/sources/work-folders.ts'
import { CannotMake } from '../../src/files/renditions/workshop/failure.ts'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { zip } from './documents.ts'
import { fetched, picture, sha256, upload } from './support.ts'

suite('delivery of files', () => {
  let svc: TestService
  let url: string
  let file: Json
  const content = randomBytes(100_000)
  before(async () => {
    svc = await startService()
    await svc.as('root').post('/user', [{ user: { login: 'nina' }, _password: 'nina' }])
    const { body } = await upload(svc, 'root', [{ name: 'film.bin', content }])
    file = body[0]
    url = file.versions.original.url
  })
  after(() => svc[Symbol.asyncDispose]())

  const bearer = async (login: string) => ({ authorization: `Bearer ${await svc.as(login).token()}` })
  const bare = () => url.split('?')[0] as string
  const code = (answer: { content: Buffer }) => JSON.parse(answer.content.toString()).code

  test('ranges: parts of a content, its end, and what is none', async () => {
    const cases: [string, number, Buffer][] = [
      ['bytes=0-0', 206, content.subarray(0, 1)],
      ['bytes=10-19', 206, content.subarray(10, 20)],
      ['bytes=99990-', 206, content.subarray(99_990)],
      ['bytes=99990-999999999', 206, content.subarray(99_990)],
      ['bytes=-10', 206, content.subarray(-10)],
      ['bytes=-999999', 206, content],
      ['bytes=20-10', 200, content],
      ['bytes=0-1,5-6', 200, content],
      [`bytes=${'0-,'.repeat(1000)}1-`, 200, content],
      ['lines=0-1', 200, content],
      ['bytes=a-b', 200, content],
      ['bytes=', 200, content],
    ]
    for (const [range, status, expected] of cases) {
      const answer = await fetched(svc, url, { range })
      assert.equal(answer.status, status, range)
      assert.ok(answer.content.equals(expected), range)
      assert.equal(answer.headers['content-length'], `${expected.length}`, range)
      assert.equal(answer.headers['accept-ranges'], 'bytes')
    }
    const part = await fetched(svc, url, { range: 'bytes=10-19' })
    assert.equal(part.headers['content-range'], 'bytes 10-19/100000')
    for (const range of ['bytes=100000-', 'bytes=200000-200001', 'bytes=-0']) {
      const answer = await fetched(svc, url, { range })
      assert.deepEqual([answer.status, answer.headers['content-range']], [416, 'bytes */100000'], range)
      const { code, statuscode } = JSON.parse(answer.content.toString())
      assert.deepEqual([code, statuscode], ['RangeNotSatisfiable', 416])
      // Of a refusal nothing is kept.
      assert.deepEqual([answer.headers.etag, answer.headers['content-disposition']], [undefined, undefined])
      assert.doesNotMatch(String(answer.headers['cache-control']), /max-age/)
    }
  })

  test('no range ever asks for bytes that are not there', () => {
    for (const size of [0, 1, 5]) {
      for (const header of [
        'bytes=0-',
        'bytes=0-0',
        'bytes=-1',
        'bytes=-9',
        'bytes=4-9',
        'bytes=9-',
        'bytes=999999999999999-',
      ]) {
        const range = readRange(header, size)
        if (typeof range === 'string') continue
        assert.ok(range.start >= 0 && range.start <= range.end && range.end < size, `${header} of ${size}`)
      }
    }
  })

  test('names made of what people wrote: one line, no folders, nothing hidden, not too long, the extension of the content', () => {
    const cases: [string, string | null][] = [
      ['PF - 3 - Title - original.jpg', 'PF - 3 - Title - original.jpg'],
      ['Title', 'Title.jpg'],
      ['Title.JPG', 'Title.jpg'],
      ['scan.tif', 'scan.jpg'],
      ['scan.tif.exe', 'scan.tif.exe.jpg'],
      ['../../etc/passwd', '_.._etc_passwd.jpg'],
      ['C:\\Windows\\x', 'C_Windows_x.jpg'],
      ['a<b>:"c"|d?*e%41', 'a_b_c_d_e_41.jpg'],
      ['a\r\nSet-Cookie: x', 'a Set-Cookie_ x.jpg'],
      ['a\u0000b\u001b[31m\u007f\u0085', 'ab[31m.jpg'],
      ['invoice\u202Egpj.exe', 'invoicegpj.exe.jpg'],
      ['\u200Ea\u2066b\u2069\uFEFF\u{E0041}', 'ab.jpg'],
      ['u\u0308ber', '\u00fcber.jpg'],
      ['\ud800x', '\ufffdx.jpg'],
      ['  two   spaces\u2003 and. ', 'two spaces and.jpg'],
      ['.htaccess', 'htaccess.jpg'],
      ['CON', '_CON.jpg'],
      ['com1.x', '_com1.x.jpg'],
      ['console', 'console.jpg'],
      ['', null],
      [' . ', null],
      ['.jpg', null],
      ['\u202e///', null],
      ['東京', '東京.jpg'],
    ]
    for (const [text, expected] of cases) assert.equal(nameFrom(text, 'jpg', 'tif'), expected, JSON.stringify(text))
    assert.equal(nameFrom('x', '', ''), 'x')
    for (const long of ['x'.repeat(5000), '東'.repeat(1000), '👩‍👩‍👧'.repeat(100), `${'y'.repeat(235)}...z`]) {
      const name = nameFrom(long, 'jpg', 'jpg') as string
      assert.ok(Buffer.byteLength(name) <= 240 && name.isWellFormed() && /[^. ]\.jpg$/.test(name), name)
    }
  })

  test('large contents come whole through a socket, to those who read quickly, slowly and in parts', async () => {
    const large = randomBytes(24_000_000)
    const { body } = await upload(svc, 'root', [{ name: 'large.bin', content: large }])
    const origin = await svc.listen()
    const { pathname, search } = new URL(body[0].versions.original.url)
    const read = async (pause: number, [start, end]: [number, number]): Promise<void> => {
      const answer = await fetch(`${origin}${pathname}${search}`, { headers: { range: `bytes=${start}-${end - 1}` } })
      assert.equal(answer.status, 206)
      const pieces: Uint8Array[] = []
      for await (const piece of answer.body ?? []) {
        pieces.push(piece)
        if (pause > 0 && pieces.length % 20 === 0) await sleep(pause)
      }
      assert.ok(Buffer.concat(pieces).equals(large.subarray(start, end)), `${start} to ${end}, ${pause} ms`)
    }
    await Promise.all([
      read(0, [0, large.length]),
      read(20, [0, large.length]),
      read(5, [1_000_001, 20_000_003]),
      read(0, [23_999_000, large.length]),
    ])
  })

  test('conditional requests: what is known is not sent again; a range of something else is not mixed in', async () => {
    const first = await fetched(svc, url)
    const tag = String(first.headers.etag)
    assert.equal(tag, `"${sha256(content)}"`)
    const at = String(first.headers['last-modified'])
    const known: Record<string, string>[] = [
      { 'if-none-match': tag },
      { 'if-none-match': `"x", W/${tag}` },
      { 'if-none-match': '*' },
      { 'if-modified-since': at },
    ]
    for (const headers of known) {
      const answer = await fetched(svc, url, headers)
      assert.deepEqual([answer.status, answer.content.length], [304, 0])
    }
    assert.equal((await fetched(svc, url, { 'if-none-match': '"x"' })).status, 200)
    assert.equal((await fetched(svc, url, { 'if-none-match': '"x"', 'if-modified-since': at })).status, 200)
    assert.equal((await fetched(svc, url, { 'if-modified-since': new Date(0).toUTCString() })).status, 200)
    assert.equal((await fetched(svc, url, { range: 'bytes=0-1', 'if-range': tag })).status, 206)
    assert.equal((await fetched(svc, url, { range: 'bytes=0-1', 'if-range': '"other"' })).status, 200)
    for (const condition of [tag, `"other", ${tag}`, '*']) {
      assert.equal((await fetched(svc, url, { 'if-match': condition })).status, 200, condition)
    }
    // A weak tag does not compare strongly.
    for (const condition of ['"other"', `W/${tag}`]) {
      const failed = await fetched(svc, url, { 'if-match': condition })
      assert.deepEqual([failed.status, failed.headers['content-disposition']], [412, undefined], condition)
    }
    const before = new Date(Date.now() - 86_400_000).toUTCString()
    const after = new Date(Date.now() + 86_400_000).toUTCString()
    assert.equal((await fetched(svc, url, { 'if-unmodified-since': before })).status, 412)
    assert.equal((await fetched(svc, url, { 'if-unmodified-since': after })).status, 200)
    assert.equal((await fetched(svc, url, { 'if-unmodified-since': before, 'if-match': tag })).status, 200)
  })

  test('HEAD says the same and sends nothing', async () => {
    const answer = await fetched(svc, url, {}, 'HEAD')
    assert.deepEqual([answer.status, answer.content.length], [200, 0])
    assert.equal(answer.headers['content-length'], '100000')
    assert.equal((await fetched(svc, bare(), {}, 'HEAD')).status, 403)
  })

  test('a wrong hash or signature is 403, never 401; an unknown file 404 for who may see all, else 403', async () => {
    const signature = new URL(url).searchParams.get('x-svc-signature') as string
    const [until, mac] = signature.split('-') as [string, string]
    const path = `${bare()}`
    const wrong = [
      `${path}?x-svc-signature=`,
      `${path}?x-svc-signature=x`,
      `${path}?x-svc-signature=${signature}x`,
      `${path}?x-svc-signature=${until}-${'A'.repeat(32)}`,
      `${path}?x-svc-signature=${(Number.parseInt(until, 36) + 3600).toString(36)}-${mac}`,
      url.replace(sha256(content), 'a'.repeat(64)),
      url.replace(sha256(content), 'x'),
      path,
    ]
    for (const address of wrong) {
      const answer = await fetched(svc, address)
      assert.deepEqual([answer.status, code(answer)], [403, 'InsufficientRights'], address)
    }
    for (const address of [url.replace(`/${file._id}/`, '/999999/'), url.replace('/original', '/preview')]) {
      const signed = await fetched(svc, address)
      assert.deepEqual([signed.status, code(signed)], [403, 'InsufficientRights'], 'the signature is of another file')
      const bare = new URL(address)
      bare.search = ''
      const authorization = `Bearer ${await svc.as('root').token()}`
      const answer = await fetched(svc, bare.href, { authorization })
      assert.deepEqual([answer.status, code(answer)], [404, 'ResourceNotFound'], address)
    }
    for (const parameter of ['format=png', 'size=10', 'dpi=1', 'metadata=remove', 'recipe=x', 'recipe_params=x']) {
      assert.equal(code(await fetched(svc, `${url}&${parameter}`)), 'UrlParameterNotSupported', parameter)
    }
    const { pathname } = new URL(bare())
    const header = await svc.inject({ url: pathname, headers: { 'x-svc-signature': signature } })
    assert.equal(header.statusCode, 200)
  })

  test('without Perl a copy without metadata is refused as what cannot be had now, and leaves nothing', async () => {
    const { body } = await upload(svc, 'root', [{ name: 'photo.jpg', content: await picture() }])
    const [stored] = await readFiles(svc.db, [body[0]._id])
    assert.ok(stored)
    const { dataDir } = svc.config
    const copy = createDerivedDownloads({
      folders: createWorkFolders(join(dataDir, 'copies')),
      workers: {
        run: async ({ kind }) => {
          assert.equal(kind, 'strip')
          throw new CannotMake('unavailable', 'exiftool-vendored needs Perl on the machine')
        },
      },
      storeOf: () => createFileSystemStore(join(dataDir, 'files')),
      mostBytes: 1_000_000,
      profiles: { named: () => undefined, load: () => assert.fail('nothing is drawn') },
    })
    const transform = readTransformRequest({ metadata: 'remove' }, [])
    assert.ok(transform)
    const made = copy(stored, originalOf(stored), transform, { metadata: null, marks: noMarks })
    const left = async () => (await readdir(join(dataDir, 'copies'))).length
    await assert.rejects(made.make(new AbortController().signal), { code: 'ServiceUnavailable', message: /needs Perl/ })
    assert.equal(await left(), 1)
    made.end()
    await until(async () => (await left()) === 0)
  })

  /** The address of a path in an archive. */
  async function within(archive: Buffer, name = 'a.zip'): Promise<(path: string) => string> {
    const { body } = await upload(svc, 'root', [{ name, content: archive }])
    const [place, query] = body[0].versions.original.url.split('?')
    return (path) => `${place}/${path.split('/').map(encodeURIComponent).join('/')}?${query}`
  }

  test('a path in an archive: its content as any other, and what a folder has', async () => {
    const film = randomBytes(300_000)
    const notes = 'first line\n'.repeat(20_000)
    const entries = {
      'top.txt': 'top',
      'film/one.bin': film,
      'film/über/notes.txt': notes,
      'film/empty.txt': '',
      'x/': '',
    }
    for (const plain of [false, true]) {
      const at = await within(zip(entries, { plain }))
      const whole = await fetched(svc, at('film/one.bin'))
      assert.deepEqual([whole.status, sha256(whole.content)], [200, sha256(film)])
      assert.equal(whole.headers['content-length'], '300000')
      assert.match(String(whole.headers['content-disposition']), /^attachment; filename="one.bin"/)
      for (const [range, from, to] of [
        ['bytes=0-9', 0, 10],
        ['bytes=200000-200009', 200_000, 200_010],
        ['bytes=-5', 299_995, 300_000],
      ] as const) {
        const part = await fetched(svc, at('film/one.bin'), { range })
        assert.equal(part.status, 206, range)
        assert.ok(part.content.equals(film.subarray(from, to)), range)
      }
      assert.equal((await fetched(svc, at('film/one.bin'), { range: 'bytes=300000-' })).status, 416)
      const text = await fetched(svc, at('film/u\u0308ber/notes.txt'))
      assert.equal(text.content.toString(), notes, 'composed or not')
      assert.equal(text.headers['content-type'], 'text/plain; charset=utf-8')
      const tag = String(text.headers.etag)
      assert.notEqual(tag, whole.headers.etag)
      assert.equal((await fetched(svc, at('film/über/notes.txt'), { 'if-none-match': tag })).status, 304)
      const head = await fetched(svc, at('film/über/notes.txt'), {}, 'HEAD')
      assert.deepEqual([head.status, head.content.length, head.headers['content-length']], [200, 0, '220000'])
      assert.deepEqual([(await fetched(svc, at('film/empty.txt'))).content.length], [0])
      const list = async (path: string) => {
        const answer = await fetched(svc, at(path))
        assert.match(String(answer.headers['content-type']), /^application\/json/)
        return JSON.parse(answer.content.toString()).map(({ mod_time, ...rest }: Json) => {
          assert.match(mod_time, /^2025-01-01T00:00:00/)
          return rest
        })
      }
      const folder = [
        { name: 'one.bin', path: 'film/one.bin', size: 300_000, is_dir: false },
        { name: 'über', path: 'film/über/', size: 0, is_dir: true },
        { name: 'empty.txt', path: 'film/empty.txt', size: 0, is_dir: false },
      ]
      assert.deepEqual(await list('film'), folder)
      assert.deepEqual(await list('film/'), folder)
      assert.deepEqual(await list('x'), [])
      assert.deepEqual(await list(''), [
        { name: 'top.txt', path: 'top.txt', size: 3, is_dir: false },
        { name: 'film', path: 'film/', size: 0, is_dir: true },
        { name: 'x', path: 'x/', size: 0, is_dir: true },
      ])
    }
  })

  test('an entry is delivered with the caution and the rights of a file', async () => {
    const program = Buffer.from('MZ\x90\0'.padEnd(300, '\0'), 'latin1')
    const at = await within(
      zip({ 'a/page.html': '<script>alert(1)</script>', 'photo.jpg': program, 'b\u202Egpj.txt': 'x' }),
    )
    const page = await fetched(svc, at('a/page.html'))
    assert.match(String(page.headers['content-disposition']), /^attachment; filename="page.html"/)
    assert.match(String(page.headers['content-security-policy']), /^sandbox;/)
    assert.equal(page.headers['x-content-type-options'], 'nosniff')
    const photo = await fetched(svc, at('photo.jpg'))
    assert.match(String(photo.headers['content-disposition']), /^attachment;/)
    assert.doesNotMatch(String(photo.headers['content-type']), /^image/)
    const turned = await fetched(svc, at('b\u202Egpj.txt'))
    assert.match(String(turned.headers['content-disposition']), /filename="bgpj.txt"; filename\*=UTF-8''bgpj.txt$/)
    const unsigned = at('photo.jpg').split('?')[0] as string
    assert.equal((await fetched(svc, unsigned, await bearer('root'))).status, 200)
    for (const [address, headers] of [
      [unsigned, await bearer('nina')],
      [unsigned, {}],
      [`${unsigned}?x-svc-signature=x`, {}],
      [at('photo.jpg').replace(/[0-9a-f]{64}/, 'a'.repeat(64)), {}],
    ] as const) {
      const answer = await fetched(svc, address, headers)
      assert.deepEqual([answer.status, code(answer)], [403, 'InsufficientRights'], address)
    }
    for (const path of [
      'nothing',
      'photo.jpg/x',
      'photo.jpg/',
      'a/page',
      'A/page.html',
      '\0',
      '%',
      '..%2f..%2fphoto.jpg',
    ]) {
      const answer = await fetched(svc, at(path))
      assert.deepEqual([answer.status, code(answer)], [404, 'ResourceNotFound'], path)
    }
    assert.equal(code(await fetched(svc, `${at('photo.jpg')}&obj_uuid=x`)), 'ResourceNotFound')
  })

  test('archives that are broken, locked, lie or lead elsewhere are refused', async () => {
    /** Changes a field of the directory's only entry, and of the entry itself. */
    const changed = (archive: Buffer, change: (header: Buffer) => void) => {
      const copy = Buffer.from(archive)
      change(copy.subarray(4))
      change(copy.subarray(copy.indexOf('PK\x01\x02', 0, 'latin1') + 6))
      return copy
    }
    const one = zip({ a: 'abc'.repeat(100) })
    const cases: Record<string, Buffer> = {
      'no archive': randomBytes(1000),
      'nothing at all': Buffer.alloc(0),
      'cut short': one.subarray(0, -30),
      'a directory elsewhere': Buffer.concat([one.subarray(0, 40), one.subarray(60)]),
      encrypted: changed(one, (header) => header.writeUInt16LE(0x801, 2)),
      'packed in another way': changed(one, (header) => header.writeUInt16LE(99, 4)),
      'smaller than it says': changed(one, (header) => header.writeUInt32LE(1000, 18)),
      'larger than it says': changed(one, (header) => header.writeUInt32LE(2, 18)),
      'leads up': zip({ '../a': 'x' }),
      'leads to the root': zip({ '/a': 'x' }),
      bomb: zip({ a: Buffer.alloc(20_000_000) }),
      'says that it is huge': changed(one, (header) => header.writeUInt32LE(4_000_000_000, 18)),
      damaged: Buffer.concat([one.subarray(0, 31), Buffer.alloc(4, 0xff), one.subarray(35)]),
    }
    for (const [what, archive] of Object.entries(cases)) {
      const at = await within(archive, `${what}.zip`)
      for (const method of ['GET', 'HEAD'] as const) {
        const answer = await fetched(svc, at('a'), {}, method)
        assert.equal(answer.status, 400, what)
        if (method === 'GET') assert.equal(code(answer), 'ServerGeneric', what)
      }
    }
    assert.equal((await fetched(svc, url)).status, 200)
  })

  test('without a signature the rights of the caller count; a rejected token is none', async () => {
    assert.equal((await fetched(svc, bare(), await bearer('root'))).status, 200)
    for (const headers of [await bearer('nina'), { authorization: 'Bearer nothing' }, {}]) {
      const answer = await fetched(svc, bare(), headers)
      assert.deepEqual([answer.status, code(answer)], [403, 'InsufficientRights'])
    }
    for (const headers of [await bearer('nina'), { authorization: 'Bearer nothing' }]) {
      const answer = await fetched(svc, url, headers)
      assert.equal(answer.status, 200, 'a signature is enough')
    }
  })

  test('a signature ends, and is the same for all who ask within the hour', async () => {
    let now = Date.parse('2026-11-22T10:20:00Z')
    const key = { key: randomBytes(32), until: Number.POSITIVE_INFINITY }
    const signatures = createSignatures([key], () => now)
    const signed = { fileId: 1, hash: 'h', version: 'original' }
    const signature = signatures.sign(signed, signatures.until(7 * 86_400))
    now += 39 * 60_000
    assert.equal(signatures.sign(signed, signatures.until(7 * 86_400)), signature)
    assert.equal(createSignatures([key], () => now).left(signed, signature), 7 * 86_400 + 60)
    for (const other of [
      { ...signed, fileId: 2 },
      { ...signed, hash: 'g' },
      { ...signed, version: 'small' },
    ]) {
      assert.equal(signatures.left(other, signature), null)
    }
    now += 7 * 86_400_000 + 60_000
    assert.equal(signatures.left(signed, signature), null)
  })

  test('a content that is not there is 503 and logged, and the next is delivered', async () => {
    const lost = randomBytes(50)
    const { body } = await upload(svc, 'root', [{ name: 'lost.bin', content: lost }])
    const hash = sha256(lost)
    await rm(join(svc.config.dataDir, 'files', hash.slice(0, 2), hash.slice(2, 4), hash))
    const answer = await fetched(svc, body[0].versions.original.url)
    assert.deepEqual([answer.status, code(answer)], [503, 'ServiceUnavailable'])
    assert.equal((await fetched(svc, url)).status, 200)
  })
})
