import assert from 'node:assert/strict'
import { createWriteStream } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { after, before, suite, test } from 'node:test'
import { createGzip } from 'node:zlib'
import { pack } from 'tar-stream'
import { createServiceClient, type ServiceClient } from '../../src/import/client.ts'
import { runImport } from '../../src/import/commands.ts'
import { importExport } from '../../src/import/exports/load.ts'
import { openExport } from '../../src/import/exports/open.ts'
import { silentProgress } from '../../src/platform/process/progress.ts'
import { addWorks, exported, fetchedFile, run } from '../exports/support.ts'
import { zip } from '../files/documents.ts'
import type { Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

suite('import of exports', () => {
  let source: Museum
  let target: Museum
  let folder: string
  let one: Json
  const mostBytes = 10_000_000

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'import-exports-'))
    source = await startMuseum()
    target = await emptyMuseum()
    await fill(source, await addTags(source, []))
    one = await exportAll(source)
    for (const packaging of ['', 'bagit', 'ocfl', 'ro_crate']) {
      for (const kind of ['zip', 'tar_gz'])
        await writeFile(join(folder, `${packaging || 'plain'}.${kind}`), await packed(kind, packaging))
    }
  })
  after(async () => {
    await source[Symbol.asyncDispose]()
    await target[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  /** Works with pictures, people who know each other, a hierarchy, loans that link back, links forth and back between types. */
  async function fill(museum: Museum, tag: number): Promise<void> {
    const { svc, pool } = museum
    const root = svc.as('root')
    const saved = async (type: string, objects: Json[], method: 'post' | 'patch' = 'post'): Promise<Json[]> => {
      const answer = await root[method](`/db/${type}`, objects, { await_index: 60 })
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
      return answer.body
    }
    const [ada, bea] = await saved('person', [
      payload('person', { name: 'Ada' }),
      payload('person', { name: 'Bea', born: { value: '1815-12-10' } }),
    ])
    const knows = (from: Json, to: Json): Json => ({
      ...payload('person', {
        '_nested:person__influence': [{ person: { _uuid: to._uuid }, active: true, note: 'mutual' }],
      }),
      _uuid: from._uuid,
    })
    await saved('person', [knows(ada, bea), knows(bea, ada)], 'patch')
    const [top] = await saved('topic', [payload('topic', { name: 'Sea' })])
    await saved('topic', [payload('topic', { name: 'Storm', _parents: [{ _uuid: top._uuid }] })])
    const works = await addWorks(museum, ['Ä "quoted"', 'b', 'b'], 2)
    const [full] = await saved('work', [
      payload(
        'work',
        {
          title: { 'en-US': 'Full', 'de-DE': 'Voll' },
          note: 'two\nlines',
          width: 12,
          price: 567,
          weight: 1.5,
          signed: true,
          made: { value: '1820' },
          period: { from: '1820', to: '1830-05' },
          creator: { _uuid: ada._uuid },
          '_nested:work__material': [{ name: 'oil', amount: 2 }],
          '_nested:work__topic': [{ topic: { _uuid: top._uuid } }],
          place: {
            _objecttype: 'place',
            place: { 'lookup:_id': { _uuid: 'a-place-that-comes-later', _allow_defer: true } },
          },
        },
        { ...inPool(pool), _tags: [{ _id: tag }] },
      ),
    ])
    await saved('loan', [
      payload('loan', { borrower: 'Prado', work: { _uuid: full._uuid } }),
      payload('loan', { borrower: 'Tate', work: { _uuid: works[0]._uuid } }),
    ])
    await svc.drain()
  }

  /** A group with a tag behind some others; its id. */
  async function addTags({ svc }: Museum, before: readonly string[]): Promise<number> {
    const group = {
      taggroup: { displayname: { 'en-US': 'State' }, type: 'checkbox' },
      _tags: [...before, 'Checked'].map((name) => ({ displayname: { 'en-US': name } })),
    }
    const { status, body } = await svc.as('root').post('/tags', [group])
    assert.equal(status, 200, JSON.stringify(body))
    return body[0]._tags.at(-1)._id
  }

  async function emptyMuseum(): Promise<Museum> {
    const museum = await startMuseum()
    await addTags(museum, ['Draft'])
    return museum
  }

  const settings = {
    json: true,
    all_languages: true,
    no_inheritance: true,
    search: {},
    eas_fields: { 'work.image': { files: true } },
    classes: { image: [{ type: 'original', metadata: 'keep' }] },
  }
  async function exportAll(museum: Museum): Promise<Json> {
    const made = await exported(museum.svc, settings)
    assert.equal(made._state, 'done', JSON.stringify(made._log.at(-2)))
    return made
  }

  async function packed(kind: string, packaging: string): Promise<Buffer> {
    const token = await source.svc.as('root').token()
    const query = packaging === '' ? '' : `?package=${packaging}`
    const answer = await source.svc.inject({
      url: `/api/v1/export/${one.export._id}/${kind}/${query}`,
      headers: { authorization: `Bearer ${token}` },
    })
    assert.equal(answer.statusCode, 200)
    return answer.rawPayload
  }

  async function clientOf(museum: Museum): Promise<ServiceClient> {
    const password = museum.svc.config.rootPassword ?? ''
    return createServiceClient({ url: await urlOf(museum), login: 'root', password, patience: 5000 })
  }

  const urls = new Map<Museum, Promise<string>>()
  function urlOf(museum: Museum): Promise<string> {
    const known = urls.get(museum) ?? museum.svc.listen()
    urls.set(museum, known)
    return known
  }

  async function imported(file: string, more: Json = {}) {
    const client = more.client ?? (await clientOf(target))
    return importExport({ file, progress: silentProgress, signal: AbortSignal.any([]), mostBytes, ...more, client })
  }

  const objectsIn = async ({ svc }: Museum): Promise<number> => {
    const { rows } = await svc.db.query<{ count: number }>('select count(*)::int as count from object')
    return rows[0]?.count ?? 0
  }

  const found = async ({ svc }: Museum): Promise<number> => {
    await svc.drain()
    return (await svc.as('root').post('/search', {})).body.count
  }

  /** What an instance says of its objects, without the numbers and moments that are its own. */
  async function toldBy(museum: Museum): Promise<Json[]> {
    const made = museum === source ? one : await exportAll(museum)
    const { body } = await fetchedFile(museum.svc, made.export._id, 'export.json')
    const objects: Json[] = JSON.parse(body).map(bare)
    return objects.sort((a, b) => (a._uuid < b._uuid ? -1 : 1))
  }

  function bare(value: Json): Json {
    if (Array.isArray(value)) return value.map(bare)
    if (typeof value !== 'object' || value === null) return value
    const own =
      /^(_system_object_id|_global_object_id|_created|_last_modified|_id|_version|_eas_id|date_uploaded|date_created|last_status_at|best_date|upload_user|reference|original_filepath|blurhash|path|lookup:_id)$/
    const isRow = value._objecttype === undefined && value._uuid !== undefined
    return Object.fromEntries(
      Object.entries(value)
        // A link to an object that does not exist is left out.
        .filter(([name, one]) => !own.test(name) && !(isRow && name === '_uuid') && !(one as Json)?._purged_or_deferred)
        .map(([name, one]) => [name, bare(one as Json)]),
    )
  }

  test('all of an export is in the other instance: objects, links both ways, hierarchies, files', async () => {
    const { created, files } = await imported(join(folder, 'bagit.zip'))
    assert.deepEqual([created, files], [{ person: 2, topic: 2, work: 4, loan: 2 }, 2])
    await target.svc.drain()
    const [before, now] = [await toldBy(source), await toldBy(target)]
    assert.equal(before.length, 10)
    assert.deepEqual(now, before)
    const ours = await exportAll(target)
    for (const path of ours._files.map(({ path }: Json) => path).filter((path: string) => path.endsWith('.jpg'))) {
      const [a, b] = await Promise.all([
        fetchedFile(source.svc, one.export._id, encodeURI(path)),
        fetchedFile(target.svc, ours.export._id, encodeURI(path)),
      ])
      assert.ok(a.rawPayload.equals(b.rawPayload), path)
    }
    const again = imported(join(folder, 'bagit.zip'))
    await assert.rejects(again, /10 of its 10 objects are in the service already/)
    assert.equal(await objectsIn(target), 10)
  })

  test('each kind of package is read, and a folder, and the JSON alone', async () => {
    for (const name of await readdir(folder)) {
      if (!/\.(zip|tar_gz)$/.test(name)) continue
      await using opened = await openExport(join(folder, name), mostBytes)
      assert.equal(opened.documents.length, 1, name)
      assert.equal(JSON.parse(await readFile(opened.documents[0] as string, 'utf8')).length, 10, name)
    }
    const out = join(folder, 'out')
    await mkdir(out)
    await run('tar', ['-xzf', join(folder, 'ocfl.tar_gz'), '-C', out])
    await using unpacked = await openExport(out, mostBytes)
    assert.equal(unpacked.kind, 'OCFL object')
    const json = unpacked.documents[0] as string
    await using alone = await openExport(json, mostBytes)
    assert.deepEqual([alone.kind, alone.documents], ['JSON', [json]])
    // Nothing of the ten is new, which is told before their files are missed.
    await assert.rejects(imported(json, { withoutFiles: true }), /10 of its 10 objects are in the service already/)
  })

  test('a package that is not what its lists say is refused', async () => {
    const changed = async (name: string, change: (root: string) => Promise<void>): Promise<void> => {
      const out = await mkdtemp(join(folder, 'changed-'))
      await run('tar', ['-xzf', join(folder, `${name}.tar_gz`), '-C', out])
      const [top = ''] = name === 'ro_crate' ? [''] : await readdir(out)
      await change(join(out, top))
      await imported(out)
    }
    const append = (path: string) => async (root: string) => writeFile(join(root, path), ' ', { flag: 'a' })
    const tagManifest = 'tagmanifest-sha512.txt'
    /** Another list, without the one of the tag files that would tell of it. */
    const replaced = (name: string, path: string) => async (root: string) => {
      await rm(join(root, tagManifest))
      await writeFile(join(root, name), `${'0'.repeat(128)}  ${path}\n`)
    }
    const cases: [string, (root: string) => Promise<void>, RegExp][] = [
      ['bagit', append('data/export.json'), /data\/export\.json is not what its hash says/],
      ['bagit', (root) => writeFile(join(root, 'data', 'more'), 'x'), /data\/more is there, and not listed/],
      ['bagit', (root) => rm(join(root, 'data', 'export.json')), /is listed, and not there/],
      ['bagit', (root) => rm(join(root, 'manifest-sha512.txt')), /manifest-sha512\.txt is listed, and not there/],
      [
        'bagit',
        (root) => rm(join(root, 'manifest-sha512.txt')).then(() => rm(join(root, tagManifest))),
        /its manifest-sha512\.txt is not there/,
      ],
      ['bagit', replaced('manifest-sha512.txt', '../x'), /its manifest-sha512\.txt cannot be read/],
      ['bagit', append('bag-info.txt'), /bag-info\.txt is not what its hash says/],
      ['bagit', append('manifest-sha512.txt'), /manifest-sha512\.txt is not what its hash says/],
      [
        'bagit',
        (root) => writeFile(join(root, tagManifest), 'nonsense\n'),
        /its tagmanifest-sha512\.txt cannot be read/,
      ],
      ['bagit', (root) => writeFile(join(root, tagManifest), ''), /does not list manifest-sha512\.txt/],
      [
        'bagit',
        (root) => writeFile(join(root, tagManifest), `${'0'.repeat(128)}  data/export.json\n`),
        /its tagmanifest-sha512\.txt cannot be read/,
      ],
      [
        'bagit',
        (root) => writeFile(join(root, tagManifest), `${'0'.repeat(128)}  ../../x\n`),
        /its list names \.\.\/\.\.\/x, which lies outside/,
      ],
      ['ocfl', append('v1/content/export.json'), /is not what its hash says/],
      ['ocfl', append('inventory.json'), /inventory\.json is not what its hash says/],
      ['ocfl', (root) => writeFile(join(root, 'v1', 'content', 'more'), 'x'), /is there, and not listed/],
      ['ro_crate', append('export.json'), /is not what its hash says/],
    ]
    for (const [name, change, expected] of cases) await assert.rejects(changed(name, change), expected)
  })

  test('archives that lead out of their folder, hold links, or are larger than is allowed are refused', async () => {
    const write = async (name: string, bytes: Buffer): Promise<string> => {
      await writeFile(join(folder, name), bytes)
      return join(folder, name)
    }
    const tar = async (
      name: string,
      entries: { name: string; type?: 'symlink'; linkname?: string; content?: string }[],
    ): Promise<string> => {
      const made = pack()
      for (const { content = '', ...header } of entries) made.entry(header, content)
      made.finalize()
      await pipeline(made, createGzip(), createWriteStream(join(folder, name)))
      return join(folder, name)
    }
    const outside = join(folder, 'escaped')
    const large = 'x'.repeat(mostBytes + 1)
    for (const [file, expected] of [
      [await write('up.x', zip({ '../escaped': 'x', 'export.json': '[]' })), /\.\./],
      [await write('absolute.x', zip({ '/tmp/escaped': 'x' })), /absolute|leads out/],
      [await write('twice.x', zip({ 'export.json': '[]', 'Export.json': '[]' })), /is there twice/],
      [await write('bomb.x', zip({ 'export.json': large })), /more than 10000000 bytes/],
      [await write('cut.x', zip({ 'export.json': 'x'.repeat(5000) }).subarray(0, 100)), /no archive that can be read/],
      [await write('no.x', Buffer.from('hello')), /neither a ZIP nor/],
      [await write('none.x', zip({ 'other.json': '[]' })), /no export\.json/],
      [await tar('up.tar', [{ name: '../escaped', content: 'x' }]), /leads out/],
      [await tar('link.tar', [{ name: 'a', type: 'symlink', linkname: '/etc' }]), /is no file/],
      [await tar('bomb.tar', [{ name: 'export.json', content: large }]), /more than 10000000 bytes/],
    ] as const) {
      await assert.rejects(imported(file), expected, file)
    }
    assert.ok(!(await readdir(folder)).includes('escaped'), outside)
    const linked = await mkdtemp(join(folder, 'linked-'))
    await run('tar', ['-xzf', join(folder, 'plain.tar_gz'), '-C', linked])
    const [picture = ''] = (await readdir(join(linked, 'files', '0001'))).slice(0, 1)
    await rm(join(linked, 'files', '0001', picture))
    await symlink('/etc/hostname', join(linked, 'files', '0001', picture))
    await assert.rejects(imported(linked), /is not in the export/)
    assert.equal(await objectsIn(target), 10)
  })

  test('objects that cannot be imported are refused before anything is changed', async () => {
    const work: Json = JSON.parse((await fetchedFile(source.svc, one.export._id, 'export.json')).body).find(
      ({ _objecttype, work: block }: Json) => _objecttype === 'work' && block.image,
    )
    const fresh = (more: Json, block: Json = {}): Json => ({
      ...work,
      _uuid: crypto.randomUUID(),
      ...more,
      work: { ...work.work, image: undefined, ...block },
    })
    for (const [object, expected] of [
      ['nothing', /no object of an export/],
      [{ ...fresh({}), _uuid: 'x' }, /has no _uuid/],
      [{ _uuid: crypto.randomUUID() }, /has no _objecttype/],
      [{ _objecttype: 'castle', _uuid: crypto.randomUUID(), castle: {} }, /no object type castle/],
      [fresh({}, { _pool: { pool: { _id: 1, reference: 'other' } } }), /no pool with the reference "other"/],
      [fresh({ _tags: [{ _id: 1, reference: 'unknown' }] }), /no tag unknown/],
      [fresh({}, { image: [{ ...work.work.image[0], versions: { original: {} } }] }), /is not in the export/],
      [
        fresh({}, { image: [{ ...work.work.image[0], versions: { original: { path: '../x.jpg' } } }] }),
        /is not in the export/,
      ],
    ] as const) {
      const file = join(folder, 'wrong.json')
      await writeFile(file, `[${typeof object === 'string' ? object : JSON.stringify(object)}]`)
      await assert.rejects(imported(file), expected, JSON.stringify(object).slice(0, 100))
    }
    assert.equal(await objectsIn(target), 10)
  })

  test('what the service refuses in the middle, and what breaks off, is taken back whole', async () => {
    await using other = await emptyMuseum()
    const client = await clientOf(other)
    const file = join(folder, 'plain.zip')
    const broken = join(folder, 'broken')
    await mkdir(broken)
    await run('unzip', ['-q', file, '-d', broken])
    const objects: Json[] = JSON.parse(await readFile(join(broken, 'export.json'), 'utf8'))
    await writeFile(join(broken, 'kept.json'), await readFile(join(broken, 'export.json')))
    for (const { loan } of objects) if (loan) loan.due = { value: 'never' }
    await writeFile(join(broken, 'export.json'), `[${objects.map((each) => JSON.stringify(each)).join(',\n')}]`)
    await assert.rejects(imported(broken, { client }), /due/)
    assert.equal(await found(other), 0)
    // Corrected, it goes on with what lies in the trash.
    await writeFile(join(broken, 'export.json'), await readFile(join(broken, 'kept.json')))
    assert.deepEqual((await imported(broken, { client })).created, { person: 2, topic: 2, work: 4, loan: 2 })
    await other.svc.drain()
    assert.deepEqual(await toldBy(other), await toldBy(source))
    assert.ok(!(await readdir(folder)).includes('broken.import'))
  })

  test('an import that ends right behind a deletion of its objects takes them out of the trash again', async () => {
    await using other = await emptyMuseum()
    const client = await clientOf(other)
    const file = join(folder, 'plain.tar_gz')
    let isDead = false
    const fails = async (): Promise<never> => {
      throw new Error('killed')
    }
    let found: { readonly objecttypes: string; readonly answer: unknown } | null = null
    const dying: ServiceClient = {
      ...client,
      async delete(path, body, query) {
        await client.delete(path, body, query)
        isDead = true
        return fails()
      },
      async post<T>(path: string, body: unknown, query?: Parameters<ServiceClient['post']>[2]): Promise<T> {
        if (isDead || path === '/db/loan') return fails()
        const answer = await client.post<T>(path, body, query)
        if (path === '/search') found = { objecttypes: `${(body as Json).objecttypes}`, answer }
        return answer
      },
    }
    await assert.rejects(imported(file, { client: dying }), /killed/)
    assert.ok(isDead)
    // The first search of the next attempt finds them as before: the index is behind.
    const late: ServiceClient = {
      ...client,
      async post<T>(path: string, body: unknown, query?: Parameters<ServiceClient['post']>[2]): Promise<T> {
        const before = found
        if (path !== '/search' || `${(body as Json).objecttypes}` !== before?.objecttypes)
          return client.post<T>(path, body, query)
        found = null
        return before.answer as T
      },
    }
    assert.deepEqual((await imported(file, { client: late })).created, { person: 2, topic: 2, work: 4, loan: 2 })
    assert.equal(found, null, 'the index was behind')
    await other.svc.drain()
    assert.deepEqual(await toldBy(other), await toldBy(source))
  })

  test('what breaks off is gone on with by the same command', async () => {
    await using other = await emptyMuseum()
    const client = await clientOf(other)
    const file = join(folder, 'plain.zip')
    // As if the process were killed: nothing of it can be taken back any more.
    const fails = async (): Promise<never> => {
      throw new Error('killed')
    }
    const dying: ServiceClient = {
      ...client,
      delete: fails,
      post: (path, body, query) => (path === '/db/loan' ? fails() : client.post(path, body, query)),
    }
    await assert.rejects(imported(file, { client: dying, batch: 1 }), /killed/)
    assert.equal(await objectsIn(other), 8)
    const lines: string[] = []
    const out = { write: (text: string) => lines.push(text) > 0, isTTY: false } as never
    const env = { SVC_ROOT_PASSWORD: other.svc.config.rootPassword ?? '' }
    const code = await runImport(['export', file, '--url', await urlOf(other), '--batch', '3'], { out, env })
    assert.equal(code, 0, lines.join(''))
    assert.match(lines.join(''), /goes on with 8 objects of an earlier attempt/)
    assert.match(lines.join(''), /created .*4 work/)
    await other.svc.drain()
    assert.equal(await objectsIn(other), 10)
    assert.deepEqual(await toldBy(other), await toldBy(source))
    await assert.rejects(
      runImport(['export', file, '--limit', '3'], { out, env }),
      /--limit is no option of import export/,
    )
  })
})
