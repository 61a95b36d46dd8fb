import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import type { Mask } from '../../src/datamodel/model.ts'
import { createManifests } from '../../src/deep-links/iiif/manifest.ts'
import { markdownToHtml } from '../../src/deep-links/iiif/markdown.ts'
import { parseDeepLink } from '../../src/deep-links/path.ts'
import type { LocatedObject } from '../../src/objects/service.ts'
import { ok } from '../collections/support.ts'
import { pdf } from '../files/documents.ts'
import { picture, upload } from '../files/support.ts'
import { noBrowser, startBrowser } from '../support/browser.ts'
import type { Json } from '../support/client.ts'
import { temporaryFolder } from '../support/process.ts'
import { official } from './iiif-schema.ts'
import { everything, type Scene, startDeepLinks } from './scene.ts'

const manifestPath = 'format/iiif/v3/manifest.json'
const html = /^<span>.*<\/span>$/s

/** What the specification asks of every manifest of ours. */
function assertManifest(manifest: Json): void {
  if (official) assert.ok(official(manifest), JSON.stringify(official.errors?.slice(0, 5)))
  assert.equal(manifest['@context'], 'http://iiif.io/api/presentation/3/context.json')
  assert.equal(manifest.type, 'Manifest')
  const ids = new Set<string>()
  const isMap = (map: Json) =>
    Object.entries(map).every(
      ([language, texts]) => /^(none|[A-Za-z]{2,8}(-\w+)*)$/.test(language) && Array.isArray(texts) && texts.length > 0,
    )
  assert.ok(isMap(manifest.label))
  for (const { label, value } of manifest.metadata ?? []) assert.ok(isMap(label) && isMap(value))
  assert.ok(manifest.items.length > 0)
  for (const canvas of manifest.items) {
    assert.equal(canvas.type, 'Canvas')
    assert.ok(new URL(canvas.id).hash === '' && !ids.has(canvas.id), canvas.id)
    ids.add(canvas.id)
    assert.equal(canvas.width === undefined, canvas.height === undefined)
    assert.ok(canvas.width > 0 || canvas.duration > 0)
    const [page, ...morePages] = canvas.items
    assert.deepEqual([page.type, morePages.length, page.items.length], ['AnnotationPage', 0, 1])
    const [annotation] = page.items
    assert.deepEqual([annotation.type, annotation.motivation, annotation.target], ['Annotation', 'painting', canvas.id])
    assert.ok(URL.canParse(annotation.body.id) && annotation.body.format.includes('/'))
  }
}

suite('manifests', () => {
  let it: Scene
  let object: Json
  let files: Json[]
  const root = () => it.svc.as('root')
  before(async () => {
    it = await startDeepLinks()
    const sent = [
      { name: 'large.jpg', content: await picture(1600, 900) },
      { name: 'second.jpg', content: await picture(60, 40) },
      { name: 'third.jpg', content: await picture(40, 60) },
    ]
    files = (await upload(it.svc, 'root', sent, { produce_versions: 'true' })).body
    await it.svc.drain()
    object = await it.work(
      {
        title: { 'en-US': 'View of a bridge', 'de-DE': 'Blick auf eine Brücke' },
        inventory: 'M1',
        note: '<b>bold</b>',
        width: 12,
        made: { value: '1834' },
        '_nested:work__material': [{ name: 'oil', amount: 2 }, { name: 'canvas' }],
      },
      files,
    )
    await it.grant({
      deep_link: { read: {}, asset_show: {}, asset_download: {} },
      viewer: { read: {}, asset_show: { versions: ['image.small'] } },
      reader: { read: {} },
    })
    await it.access(everything)
  })
  after(() => it[Symbol.asyncDispose]())

  const open = async (login: string | null = null, more = '') =>
    it.open(`uuid/${object._uuid}${more}/${manifestPath}`, login)
  const read = async (login: string | null = null, more = ''): Promise<Json> => {
    const answer = await open(login, more)
    assert.equal(answer.status, 200, answer.content.toString().slice(0, 300))
    const manifest = answer.json()
    assertManifest(manifest)
    return manifest
  }
  const path = (url: string) => new URL(url).pathname + new URL(url).search

  test('LINK-018 a manifest is had by its whole name, and not of a file', async () => {
    const answer = await open()
    assert.equal(answer.status, 200)
    assert.match(
      `${answer.headers['content-type']}`,
      /^application\/ld\+json;\s*profile="http:\/\/iiif.io\/api\/presentation\/3\/context.json"/,
    )
    for (const more of [
      'format/iiif',
      'format/iiif/v3',
      'format/iiif/v2/manifest.json',
      'format/iiif/manifest.json',
      'format/iiif/v3/collection.json',
    ]) {
      const { status, code } = await it.open(`uuid/${object._uuid}/${more}`)
      assert.deepEqual([status, code], [400, 'ApiObjectPath'], more)
    }
    for (const file of ['file/all/1', 'file_browser/preferred', 'file/column/image']) {
      const { status, code } = await it.open(`uuid/${object._uuid}/${file}/${manifestPath}`)
      assert.deepEqual([status, code], [400, 'ApiObjectPath'], file)
    }
  })

  test('pictures are canvases in the order of the mask, with an image service; fields are metadata', async () => {
    const manifest = await read()
    assert.equal(manifest.id, `${it.svc.config.externalUrl}/api/v1/objects/uuid/${object._uuid}/${manifestPath}`)
    assert.deepEqual(manifest.label, { 'en-US': ['View of a bridge'], 'de-DE': ['Blick auf eine Brücke'] })
    assert.deepEqual(
      manifest.items.map(({ label }: Json) => label.none[0]),
      files.map(({ original_filename }) => original_filename),
    )
    assert.deepEqual([manifest.items[0].width, manifest.items[0].height], [1600, 900])
    const [{ body }] = manifest.items[0].items[0].items
    assert.deepEqual([body.type, body.format, body.service[0].type], ['Image', 'image/jpeg', 'ImageService3'])
    const info = await it.svc.inject({
      method: 'GET',
      url: `${path(body.service[0].id)}/info.json`,
      headers: { origin: 'https://viewer.example' },
    })
    assert.deepEqual([info.statusCode, info.headers['access-control-allow-origin']], [200, '*'])
    assert.equal(info.json().id, body.service[0].id)
    const image = await it.svc.inject({ method: 'GET', url: path(body.id) })
    assert.deepEqual([image.statusCode, image.headers['content-type']], [200, 'image/jpeg'])
    assert.ok(!body.id.includes('x-svc-signature'), 'an address of a stranger stays as it is')
    const value = (label: string) =>
      manifest.metadata.find((pair: Json) => Object.values(pair.label).flat().includes(label))?.value
    assert.deepEqual(value('inventory'), { none: ['M1'] })
    assert.deepEqual(value('width'), { none: ['12'] })
    assert.deepEqual(value('note'), { none: ['<span>&lt;b&gt;bold&lt;/b&gt;</span>'] }, 'text is no markup')
    const materials = manifest.metadata.find(({ value }: Json) => JSON.stringify(value).includes('canvas')).value
    assert.deepEqual(Object.values(materials)[0], ['oil, 2', 'canvas'])
    assert.equal(manifest.seeAlso[0].id, `${it.svc.config.externalUrl}/api/v1/objects/uuid/${object._uuid}/format/json`)
    assert.equal((await it.svc.inject({ method: 'GET', url: path(manifest.items[0].rendering[0].id) })).statusCode, 200)
  })

  test('somebody with a token gets signed addresses, and pictures that may be shown, no others', async () => {
    const signed = (await read('root')).items[0].items[0].items[0].body
    assert.equal((await it.svc.inject({ method: 'GET', url: path(signed.id) })).statusCode, 200, 'without the token')
    await it.grant({ viewer: { read: {}, asset_show: { versions: ['image.small'] } }, reader: { read: {} } })
    const [canvas, ...others] = (await read('viewer')).items
    assert.deepEqual([canvas.width, others.length, canvas.rendering], [400, 2, undefined])
    const none = await open('reader')
    assert.deepEqual([none.status, none.code], [404, 'ResourceNotFound'])
    assert.deepEqual((await open()).code, 'ObjectInsufficientRights')
    await it.grant({ deep_link: { read: {}, asset_show: {}, asset_download: {} } })
  })

  test('by mask and version; what the mask hides is not in it', async () => {
    const changed = {
      ...object,
      work: { ...object.work, title: { 'en-US': 'Renamed' }, image: [object.work.image[0]] },
    }
    ok(await root().post('/db/work', [changed]))
    const [latest, former] = [await read(), await read(null, '/version/1')]
    assert.deepEqual([latest.items.length, former.items.length], [1, 3])
    assert.deepEqual(former.label['en-US'], ['View of a bridge'])
    assert.ok(former.id.includes('/version/1/'))
    const masked = await open(null, '/mask/work__title_only')
    assert.equal(masked.code, 'ResourceNotFound', 'no picture is in that mask')
  })

  test('the required statement is Markdown of the base configuration, without anything that acts', async () => {
    const statement = {
      label: { 'en-US': 'Rights' },
      value: { 'en-US': '**Museum**, [terms](https://museum.example)\n\n<script>alert(1)</script>' },
    }
    await it.access({ ...everything, iiif_required_statement: statement })
    const { requiredStatement } = await read()
    assert.deepEqual(requiredStatement.label, { 'en-US': ['Rights'] })
    const [text] = requiredStatement.value['en-US']
    assert.match(text, html)
    assert.ok(text.includes('<b>Museum</b>, <a href="https://museum.example">terms</a>'), text)
    assert.ok(text.includes('&lt;script&gt;') && !text.includes('<script'), text)
    await it.access({ ...everything, iiif_required_statement: { value: { 'de-DE': 'Alle Rechte' } } })
    assert.deepEqual((await read()).requiredStatement, {
      label: { en: ['Attribution'] },
      value: { 'de-DE': ['<span><p>Alle Rechte</p></span>'] },
    })
    await it.access(everything)
    assert.equal((await read()).requiredStatement, undefined)
  })

  test('viewers are kept for front ends', async () => {
    const links = [
      {
        label: { 'en-US': 'Universal Viewer' },
        html_code: '<a href="https://viewer.example/#?manifest=%iiif_presentation_manifest.url%">open</a>',
      },
    ]
    await it.access({ ...everything, iiif_default_links: false, iiif_links: links })
    const { deep_link_access: shown } = ok(await it.svc.as('reader').get('/config')).system.config
    assert.deepEqual([shown.iiif_default_links, shown.iiif_links], [false, links])
    const wrong = await root().post('/config/system/config/deep_link_access/iiif_links', [{ label: {} }])
    assert.equal(wrong.status, 400)
    await it.access(everything)
  })

  test('an object without pictures has no manifest', async () => {
    const bare = await it.work({ title: { 'en-US': 'Bare' } })
    const answer = await it.open(`uuid/${bare._uuid}/${manifestPath}`)
    assert.deepEqual([answer.status, answer.code], [404, 'ResourceNotFound'])
  })

  test('the pages of a document are canvases, each with an image service; who sees no more than its picture has one', async () => {
    const content = pdf(['first page', 'second page', 'third page'])
    const sent = [{ name: 'letter.pdf', content }]
    const [letter] = (await upload(it.svc, 'root', sent, { produce_versions: 'true' })).body
    await it.svc.drain()
    const written = await it.work({ title: { 'en-US': 'Letter' } }, [letter])
    const readLetter = async (login: string | null) => {
      const answer = await it.open(`uuid/${written._uuid}/${manifestPath}`, login)
      assert.equal(answer.status, 200)
      assertManifest(answer.json())
      return answer.json().items as Json[]
    }
    const image = async (url: string) => {
      const answer = await it.svc.inject({ method: 'GET', url: path(url) })
      assert.equal(answer.statusCode, 200, `${url} ${answer.body.slice(0, 200)}`)
      return answer.rawPayload
    }
    const bodyOf = (canvas: Json): Json => canvas.items[0].items[0].body
    for (const login of [null, 'root']) {
      const canvases = await readLetter(login)
      assert.deepEqual(
        canvases.map(({ label }) => label.none[0]),
        ['letter.pdf, 1', 'letter.pdf, 2', 'letter.pdf, 3'],
      )
      const service = bodyOf(canvases[1] as Json).service[0].id
      const info = JSON.parse((await image(`${service}/info.json`)).toString())
      const { width, height } = canvases[1] as Json
      assert.deepEqual([info.id, info.width, info.height, Math.max(width, height)], [service, width, height, 3000])
      const shown = await Promise.all(canvases.map((canvas) => image(canvas.thumbnail[0].id)))
      assert.equal(new Set(shown.map((one) => one.toString('base64'))).size, 3, 'each page has its own text')
      const { width: across, height: down } = await sharp(shown[0]).metadata()
      assert.deepEqual([across, down], [canvases[0]?.thumbnail[0].width, canvases[0]?.thumbnail[0].height])
      // The words stand at the top: a part of the page is where it belongs.
      const ink = async (region: string) => {
        const part = await image(`${service}/${region}/300,/0/gray.png`)
        return (await sharp(part).stats()).channels[0]?.stdev ?? 0
      }
      assert.ok((await ink('pct:0,0,100,30')) > 0)
      assert.equal(await ink('pct:0,60,100,30'), 0)
    }
    const [first] = await readLetter(null)
    const service = bodyOf(first as Json).service[0].id as string
    for (const [page, status] of [
      ['original~4', 404],
      ['original~0', 404],
      ['original~99999999', 404],
      ['none~1', 404],
      ['original', 404],
    ] as const) {
      const url = `${path(service).replace('original~1', page)}/full/max/0/default.jpg`
      assert.equal((await it.svc.inject({ method: 'GET', url })).statusCode, status, page)
    }
    await it.grant({ viewer: { read: {}, asset_show: { versions: ['office.small'] } } })
    assert.equal((await readLetter('viewer')).length, 1)
    assert.equal((await it.svc.inject({ method: 'GET', url: `${path(service)}/info.json` })).statusCode, 403)
    await it.grant({ deep_link: { read: {}, asset_show: {}, asset_download: {} } })
  })

  test('the pages of a rendition that is a PDF are canvases of an office document, made or uploaded', async () => {
    // Stands for LibreOffice, which is called in the same way: it leaves a PDF in the folder that it is told.
    await using folder = await temporaryFolder()
    const [office, paper] = [join(folder.path, 'soffice'), join(folder.path, 'paper.pdf')]
    await writeFile(paper, pdf(['first page', 'second page', 'third page']))
    await writeFile(
      office,
      `#!/bin/sh\nwhile [ $# -gt 1 ]; do [ "$1" = --outdir ] && into=$2; shift; done\ncp '${paper}' "$into/document.pdf"\n`,
      { mode: 0o755 },
    )
    await using scene = await startDeepLinks({ soffice: office })
    const { svc } = scene
    await scene.access(everything)
    const [file] = (
      await upload(svc, 'root', [{ name: 'notes.rtf', content: Buffer.from('{\\rtf1 notes}') }], {
        produce_versions: 'true',
      })
    ).body
    await svc.drain()
    const record = ok(await svc.as('root').get(`/eas/${file._id}`))
    assert.deepEqual([record.class, record.versions.pdf.status], ['office', 'done'], JSON.stringify(record.versions))
    assert.deepEqual(record.versions.pdf.page_sizes, [[612, 792, 3]])
    const { _uuid: uuid } = await scene.work({ title: { 'en-US': 'Notes' } }, [file])
    const canvasesFor = async (login: string | null) => {
      const answer = await scene.open(`uuid/${uuid}/${manifestPath}`, login)
      assert.equal(answer.status, 200, answer.content.toString())
      assertManifest(answer.json())
      return answer.json().items as Json[]
    }
    await scene.grant({
      deep_link: { read: {}, asset_show: { versions: ['office.pdf'] } },
      viewer: { read: {}, asset_show: { versions: ['office.small'] } },
    })
    for (const login of [null, 'root']) {
      const canvases = await canvasesFor(login)
      assert.deepEqual(
        canvases.map(({ label }) => label.none[0]),
        ['notes.rtf, 1', 'notes.rtf, 2', 'notes.rtf, 3'],
      )
      const pictures = await Promise.all(
        canvases.map(async (canvas) => {
          const url = path(canvas.thumbnail[0].id)
          assert.match(url, /\/pdf~\d\/full\//)
          const answer = await svc.inject({ method: 'GET', url })
          assert.equal(answer.statusCode, 200, answer.body.slice(0, 200))
          return answer.rawPayload.toString('base64')
        }),
      )
      assert.equal(new Set(pictures).size, 3, 'each page has its own text')
    }
    const [only, ...others] = await canvasesFor('viewer')
    assert.deepEqual([only?.label.none[0], others], ['notes.rtf', []])
    // A version that somebody has uploaded has pages as well.
    const sheet = { name: 'sheet.rtf', content: Buffer.from('{\\rtf1 sheet}') }
    const [plain] = (await upload(svc, 'root', [sheet], { produce_versions: 'false' })).body
    const printed = await upload(svc, 'root', [{ name: 'print.pdf', content: pdf(['one', 'two']) }], {
      id_parents: JSON.stringify([plain._id]),
      version_names: '["print"]',
    })
    assert.equal(printed.status, 200, JSON.stringify(printed.body))
    const other = await scene.work({ title: { 'en-US': 'Sheet' } }, [plain])
    const canvases = (await scene.open(`uuid/${other._uuid}/${manifestPath}`, 'root')).json().items as Json[]
    assert.deepEqual(
      canvases.map(({ label }) => label.none[0]),
      ['sheet.rtf, 1', 'sheet.rtf, 2'],
    )
  })

  test('a viewer of another origin loads the manifest and shows its pictures', { skip: noBrowser }, async () => {
    const origin = await it.svc.listen()
    await using browser = await startBrowser({ localhost: origin })
    const { page, complaints } = await browser.open(`${origin}/api/v1/settings`, {
      viewport: { width: 400, height: 300 },
      bypassCSP: true,
    })
    await page.setContent('<div id="viewer" style="width: 320px; height: 240px"></div>')
    await page.addScriptTag({ path: fileURLToPath(import.meta.resolve('openseadragon')) })
    const manifest = JSON.stringify(
      `${it.svc.config.externalUrl}/api/v1/objects/uuid/${object._uuid}/version/1/${manifestPath}`,
    )
    const canvases = await page.evaluate(`(async () => {
      const manifest = await (await fetch(${manifest})).json()
      const sources = manifest.items.map((canvas) => canvas.items[0].items[0].body.service[0].id + '/info.json')
      window.viewer = OpenSeadragon({ id: 'viewer', drawer: 'canvas', sequenceMode: true, showNavigationControl: false, showSequenceControl: false,
        animationTime: 0, tileSources: sources })
      return sources.length
    })()`)
    assert.equal(canvases, 3)
    await page.waitForFunction('viewer.world.getItemAt(0)?.getFullyLoaded()')
    assert.deepEqual(await page.evaluate('[viewer.source.width, viewer.source.height]'), [1600, 900])
    assert.deepEqual(complaints, [])
  })
})

test('a manifest of a thousand canvases is one, too', () => {
  const image = {
    kind: 'column',
    mode: 'edit',
    column: { id: 1, name: 'image', fullName: 'work.image', type: 'eas', nameLocalized: {} },
  }
  const table = { name: 'work', fields: [], nameLocalized: {} }
  const mask = { name: 'all', table, fields: [image] } as unknown as Mask
  const version = (width: number) => ({
    extension: 'jpg',
    hash: 'a'.repeat(64),
    url: 'http://localhost/a',
    iiif_url: 'http://localhost/b',
    width: `${width}`,
    height: '300',
    _show_allowed: true,
  })
  const pages = Array.from({ length: 1000 }, (_, n) => ({
    _id: n + 1,
    class: 'image',
    original_filename: `${n}.jpg`,
    versions: { original: version(3000), small: version(400) },
  }))
  const wire = { work: { image: pages }, _standard: { 1: { text: { 'en-US': 'Book' } } } }
  const make = createManifests({
    externalUrl: 'http://localhost',
    datamodel: { current: () => ({ objecttypes: new Map() }) },
    settings: () => ({ deep_link_access: { iiif_required_statement: { label: {}, value: {} } } }) as never,
    languages: () => ['en-US'],
    formats: { find: () => null },
  })
  const object = { kind: 'object', systemObjectId: 1, uuid: 'u', table, version: 1, mask } as unknown as LocatedObject
  const manifest = make({ link: parseDeepLink(`uuid/u/${manifestPath}`), object, wire, isStranger: true }) as Json
  assert.equal(manifest.items.length, 1000)
  assertManifest(JSON.parse(JSON.stringify(manifest)))
})

test('Markdown becomes few elements; markup, scripts and foreign pictures become text or links', () => {
  const cases: [string, string][] = [
    ['plain', '<span><p>plain</p></span>'],
    ['# Head', '<span><p><b>Head</b></p></span>'],
    ['*a* ~~b~~ `c<d`', '<span><p><i>a</i> <span>b</span> <span>c&lt;d</span></p></span>'],
    ['<img src=x onerror=alert(1)>', '<span>&lt;img src=x onerror=alert(1)&gt;</span>'],
    ['[x](javascript:alert(1))', '<span><p>x</p></span>'],
    ['[x](data:text/html,1)', '<span><p>x</p></span>'],
    ['![pic](https://a.example/p.png)', '<span><p><a href="https://a.example/p.png">pic</a></p></span>'],
    ['a & b < c', '<span><p>a &amp; b &lt; c</p></span>'],
    ['- [x] one\n- two', '<span><p>☑ one<br>• two</p></span>'],
    ['1. one\n2. two', '<span><p>1. one<br>2. two</p></span>'],
    ['a | b\n--|--\n1 | 2', '<span><p>a | b<br>1 | 2<br></p></span>'],
    ['https://museum.example', '<span><p><a href="https://museum.example">https://museum.example</a></p></span>'],
    ['[x](https://a.example/"onmouseover="1)', ''],
  ]
  for (const [source, wanted] of cases) {
    const made = markdownToHtml(source)
    if (wanted !== '') assert.equal(made, wanted, source)
    assert.ok(!/<(script|img|svg|iframe|style)|<[^>]*\son\w+\s*=/i.test(made), made)
  }
})
