import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text as streamText } from 'node:stream/consumers'
import { after, before, suite, test } from 'node:test'
import { bagit } from '../../src/exports/deliver/packages/bagit.ts'
import type { Json } from '../support/client.ts'
import { type Museum, startMuseum } from '../support/seed/museum.ts'
import { startWeb } from './servers.ts'
import { addUser, addWorks, codeOf, exported, inFolder, run } from './support.ts'

type Files = ReadonlyMap<string, Buffer>

suite('exports as packages', () => {
  let museum: Museum
  let one: Json
  before(async () => {
    museum = await startMuseum()
    await addUser(museum.svc, 'ann')
    await addWorks(museum, ['100 % ä', 'twin', 'c'], 2)
    await museum.svc.drain()
    one = await exported(museum.svc, {
      name: 'Ä package: 1/2',
      json: true,
      filename_template: '%work.title%',
      // One file in two versions, which are the same: contents that are there twice.
      classes: { image: [{ type: 'original' }, { type: 'current' }] },
      eas_fields: { 'work.image': { files: true } },
    })
    assert.equal(one._state, 'done', JSON.stringify(one._log.at(-2)))
  })
  after(() => museum[Symbol.asyncDispose]())

  const pathsOf = (): string[] => one._files.map(({ path }: Json) => path).sort()
  const hashOf = (algorithm: string, bytes: Buffer): string => createHash(algorithm).update(bytes).digest('hex')

  async function packed(kind: 'zip' | 'tar_gz', packaging: string, folder = ''): Promise<Buffer> {
    const token = await museum.svc.as('root').token()
    const answer = await museum.svc.inject({
      url: `/api/v1/export/${one.export._id}/${kind}/${folder}?package=${packaging}`,
      headers: { authorization: `Bearer ${token}` },
    })
    assert.equal(answer.statusCode, 200, answer.body.slice(0, 300))
    return answer.rawPayload
  }

  /** What other programs unpack: the files by their paths. */
  async function unpacked(kind: 'zip' | 'tar_gz', bytes: Buffer): Promise<Files> {
    const { folder, path } = await inFolder(`a.${kind}`, bytes)
    const out = join(folder, 'out')
    await mkdir(out)
    if (kind === 'zip') await run('unzip', ['-q', path, '-d', out])
    else await run('tar', ['-xzf', path, '-C', out])
    const found = await readdir(out, { recursive: true, withFileTypes: true })
    const files = found.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name))
    return new Map(
      await Promise.all(files.map(async (file) => [file.slice(out.length + 1), await readFile(file)] as const)),
    )
  }

  /** Those below the only folder at the top. */
  function inside(files: Files, folder: string): Files {
    for (const path of files.keys()) assert.ok(path.startsWith(`${folder}/`), path)
    return new Map([...files].map(([path, bytes]) => [path.slice(folder.length + 1), bytes]))
  }

  const text = (files: Files, path: string): string => {
    assert.ok(files.has(path), `${path} of ${[...files.keys()].join()}`)
    return `${files.get(path)}`
  }

  for (const kind of ['zip', 'tar_gz'] as const) {
    test(`${kind}: a bag lists what it holds, with SHA-512`, async () => {
      const bag = inside(await unpacked(kind, await packed(kind, 'bagit')), 'Ä_package_1_2')
      assert.equal(text(bag, 'bagit.txt'), 'BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n')
      const payload = [...bag].filter(([path]) => path.startsWith('data/'))
      assert.deepEqual(payload.map(([path]) => path.slice(5)).sort(), pathsOf())
      const expected = payload.map(([path, bytes]) => `${hashOf('sha512', bytes)}  ${path}`)
      assert.deepEqual(text(bag, 'manifest-sha512.txt').trimEnd().split('\n').sort(), expected.sort())
      const octets = payload.reduce((sum, [, bytes]) => sum + bytes.length, 0)
      const info = text(bag, 'bag-info.txt')
      assert.match(info, new RegExp(`^Payload-Oxum: ${octets}\\.${payload.length}$`, 'm'))
      assert.match(info, /^External-Description: Ä package: 1\/2$/m)
      const tags = ['bagit.txt', 'bag-info.txt', 'manifest-sha512.txt']
      assert.equal(
        text(bag, 'tagmanifest-sha512.txt'),
        tags.map((path) => `${hashOf('sha512', bag.get(path) as Buffer)}  ${path}\n`).join(''),
      )
      assert.equal(bag.size, payload.length + 4)
    })

    test(`${kind}: an OCFL object has its inventory twice, and names each content once`, async () => {
      const object = inside(await unpacked(kind, await packed(kind, 'ocfl')), 'Ä_package_1_2')
      assert.equal(text(object, '0=ocfl_object_1.1'), 'ocfl_object_1.1\n')
      const inventory = text(object, 'inventory.json')
      assert.equal(text(object, 'v1/inventory.json'), inventory)
      for (const folder of ['', 'v1/']) {
        const sum = hashOf('sha512', object.get(`${folder}inventory.json`) as Buffer)
        assert.equal(text(object, `${folder}inventory.json.sha512`), `${sum} inventory.json\n`)
      }
      const { manifest, versions, head, id, digestAlgorithm, type } = JSON.parse(inventory)
      assert.deepEqual([head, digestAlgorithm, type], ['v1', 'sha512', 'https://ocfl.io/1.1/spec/#inventory'])
      assert.match(id, new RegExp(`/export/${one.export._id}/`))
      assert.ok(Date.parse(versions.v1.created) > 0)
      const listed = Object.entries(manifest as Record<string, string[]>).flatMap(([sum, paths]) =>
        paths.map((path) => [path, sum]),
      )
      const contents = [...object].filter(([path]) => path.startsWith('v1/content/'))
      assert.deepEqual(listed.sort(), contents.map(([path, bytes]) => [path, hashOf('sha512', bytes)]).sort())
      assert.deepEqual(Object.values(versions.v1.state).flat().sort(), pathsOf())
      assert.deepEqual(Object.keys(versions.v1.state), Object.keys(manifest))
      assert.ok(Object.keys(manifest).length < contents.length, 'two files have the same content')
    })

    test(`${kind}: a crate describes its files at the top of the archive`, async () => {
      const crate = await unpacked(kind, await packed(kind, 'ro_crate'))
      const graph: Json[] = JSON.parse(text(crate, 'ro-crate-metadata.json'))['@graph']
      const byId = new Map(graph.map((entity) => [entity['@id'], entity]))
      assert.deepEqual(byId.get('ro-crate-metadata.json').conformsTo, { '@id': 'https://w3id.org/ro/crate/1.1' })
      const rootEntity = byId.get('./')
      assert.deepEqual([rootEntity['@type'], rootEntity.name], ['Dataset', 'Ä package: 1/2'])
      const parts = rootEntity.hasPart.map((part: Json) => part['@id'])
      assert.deepEqual(parts.map(decodeURIComponent).sort(), pathsOf())
      for (const part of parts) {
        const bytes = crate.get(decodeURIComponent(part)) as Buffer
        const { '@type': type, contentSize, sha256 } = byId.get(part)
        assert.deepEqual([type, contentSize, sha256], ['File', `${bytes.length}`, hashOf('sha256', bytes)])
      }
      assert.equal(byId.get('export.json').encodingFormat, 'application/json')
      assert.equal(crate.size, parts.length + 1)
    })
  }

  test('a bag writes the letters of paths that its manifests cannot have', async () => {
    const content = Buffer.from('x')
    async function* files() {
      const open = async () => ({ size: 1, content: Readable.from([content], { objectMode: false }), end() {} })
      for (const path of ['a%b', '%25'])
        yield { path, modified: new Date(0), packs: false, pathOfError: async () => `${path}.error.txt`, open }
    }
    const about = {
      id: 'a',
      name: 'n\nBag-Count: 2',
      created: new Date(0),
      agent: 'agent',
      user: 'user',
      userAddress: 'u',
    }
    const made = new Map<string, string>()
    for await (const { path, open } of bagit(about, files())) made.set(path, await streamText((await open()).content))
    const sum = hashOf('sha512', content)
    assert.equal(made.get('manifest-sha512.txt'), `${sum}  data/a%25b\n${sum}  data/%2525\n`)
    assert.match(made.get('bag-info.txt') ?? '', /^External-Description: n Bag-Count: 2$/m)
  })

  test('a package of a folder holds that folder; of nothing an empty one', async () => {
    const bag = inside(await unpacked('zip', await packed('zip', 'bagit', 'files/')), 'Ä_package_1_2')
    const payload = [...bag.keys()].filter((path) => path.startsWith('data/')).map((path) => path.slice(5))
    assert.deepEqual(
      payload.sort(),
      pathsOf().filter((path) => path.startsWith('files/')),
    )
  })

  test('a file that cannot be had stands in a package as a text, which is listed', async () => {
    const pictures = await exported(
      museum.svc,
      { name: 'lost', json: true, eas_fields: { 'work.image': { files: true } } },
      {},
    )
    await museum.svc.db.query(`update export_file set content_id = null where run_id =
      (select run_id from export where id = ${pictures.export._id}) and kind = 'data'`)
    const token = await museum.svc.as('root').token()
    const answer = await museum.svc.inject({
      url: `/api/v1/export/${pictures.export._id}/tar_gz/?package=bagit`,
      headers: { authorization: `Bearer ${token}` },
    })
    const bag = inside(await unpacked('tar_gz', answer.rawPayload), 'lost')
    const told = bag.get('data/export.json.error.txt') as Buffer
    assert.match(`${told}`, /no such version/)
    const line = `${hashOf('sha512', told)}  data/export.json.error.txt\n`
    assert.ok(text(bag, 'manifest-sha512.txt').includes(line))
  })

  test('other packages are refused; transports bring them', async () => {
    const root = museum.svc.as('root')
    for (const path of ['zip/', 'tar_gz/']) {
      const answer = await root.get(`/export/${one.export._id}/${path}`, { package: 'rar' })
      assert.deepEqual(codeOf(answer), [400, 'ServerGeneric'])
    }
    const transport = (options: Json) => ({ _transports: [{ options }] })
    const wrong = await root.post('/export', {
      export: { type: 'export', name: 'x', search: {} },
      ...transport({ type: 'download', package: 'rar' }),
    })
    assert.deepEqual(codeOf(wrong), [400, 'ServerGeneric'])
    await using web = await startWeb()
    const url = `http://127.0.0.1:${web.port}/`
    const settings = { json: true, name: 'brought' }
    const sent = await exported(
      museum.svc,
      settings,
      transport({ type: 'webdav', url, packer: 'files', package: 'bagit' }),
    )
    assert.equal(sent._state, 'done', JSON.stringify(sent._log.at(-2)))
    const manifest = await readFile(join(web.folder, 'brought', 'manifest-sha512.txt'), 'utf8')
    const data = await readFile(join(web.folder, 'brought', 'data', 'export.json'))
    assert.equal(manifest, `${hashOf('sha512', data)}  data/export.json\n`)
    const link = await exported(
      museum.svc,
      { json: true, name: 'by link' },
      transport({ packer: 'tar_gz', package: 'ocfl' }),
    )
    const { pathname, search } = new URL(link._transports[0].external_url)
    assert.match(pathname + search, /\/tar_gz\/\?package=ocfl$/)
    const answer = await museum.svc.inject({ url: pathname + search })
    const object = inside(await unpacked('tar_gz', answer.rawPayload), 'by_link')
    assert.ok(object.has('v1/content/export.json'))
  })
})
