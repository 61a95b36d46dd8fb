import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { ok } from '../collections/support.ts'
import { upload } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import { inPool, payload } from '../support/seed/museum.ts'
import { everything, type Opened, type Scene, startDeepLinks } from './scene.ts'

suite('objects behind deep links', () => {
  let it: Scene
  let view: Json
  let hidden: Json
  const root = () => it.svc.as('root')
  before(async () => {
    it = await startDeepLinks()
    view = await it.work({ title: { 'en-US': 'View', 'de-DE': 'Ansicht' }, inventory: 'A1', note: 'public', width: 7 })
    ;[hidden] = ok(
      await root().post('/db/work', [
        payload('work', { ...inPool(it.vault), title: { 'en-US': 'Hidden' }, inventory: 'V1', note: 'hidden' }),
      ]),
    )
    await it.grant({ deep_link: { read: {} }, reader: { read: {} } })
    await it.access(everything)
    await it.svc.drain()
  })
  after(() => it[Symbol.asyncDispose]())

  const title = (answer: Opened) => {
    assert.equal(answer.status, 200, answer.content.toString())
    return answer.json().work.title['en-US']
  }
  const refused = (answer: Opened, status: number, code: string, what = '') =>
    assert.deepEqual([answer.status, answer.code], [status, code], `${what} ${answer.content}`)

  test('LINK-001 deep links answer GET, and HEAD with the same headers and no body', async () => {
    const got = await it.open(`uuid/${view._uuid}`)
    assert.equal(title(got), 'View')
    const head = await it.open(`uuid/${view._uuid}`, null, { method: 'HEAD' })
    assert.deepEqual([head.status, head.content.length], [200, 0])
    for (const name of ['content-type', 'etag', 'cache-control', 'content-length']) {
      assert.equal(head.headers[name], got.headers[name], name)
    }
    const missing = await it.open('uuid/none', null, { method: 'HEAD' })
    assert.deepEqual([missing.status, missing.content.length], [400, 0])
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
      const answer = await it.svc.inject({ method, url: `/api/v1/objects/uuid/${view._uuid}` })
      assert.deepEqual([answer.statusCode, answer.json().code], [400, 'UnknownEndpointMethod'], method)
    }
  })

  test('LINK-002 ERR-017 RIGHTS-008 the settings of deep_link_access open and close them, for root as well', async () => {
    await it.access({})
    for (const login of [null, 'reader', 'root']) {
      for (const path of [`uuid/${view._uuid}`, 'uuid/none', 'no/path']) {
        refused(await it.open(path, login), 400, 'DeepLinkAccessDisabled', `${login} ${path}`)
      }
    }
    await it.access({ enabled: true })
    for (const login of [null, 'reader', 'root']) {
      assert.equal(title(await it.open(`uuid/${view._uuid}`, login)), 'View')
      refused(await it.open(`id/${view._system_object_id}`, login), 400, 'DeepLinkAccessByIdDisabled')
      refused(await it.open('column/work/inventory/A1', login), 400, 'DeepLinkAccessByColumnDisabled')
    }
    await it.access(everything)
  })

  test('LINK-003 without a token it is the user deep_link, with one its user; there is no parameter auth', async () => {
    const path = `uuid/${view._uuid}`
    assert.equal(title(await it.open(path)), 'View')
    assert.equal(title(await it.open(path, 'reader')), 'View')
    await it.grant({ reader: { read: {} } })
    refused(await it.open(path), 403, 'ObjectInsufficientRights')
    assert.equal(title(await it.open(path, 'reader')), 'View')
    await it.grant({ deep_link: { read: {} } })
    assert.equal(title(await it.open(path)), 'View')
    refused(await it.open(path, 'reader'), 403, 'ObjectInsufficientRights', 'its rights, not those of deep_link')
    refused(await it.open(`${path}?auth=deep_link`, 'reader'), 403, 'ObjectInsufficientRights')
    const ignored = await it.open(`${path}?auth=oai_pmh`)
    assert.ok(
      ignored.status === 400 || `${ignored.headers['x-svc-ignored']}`.includes('auth'),
      'the word means nothing',
    )
    await it.grant({ deep_link: { read: {} }, reader: { read: {} } })
  })

  test('AUTH-013 a rejected token is answered as none, at deep links and at signed downloads', async () => {
    const [file] = await it.pictures(1)
    const object = await it.work({ title: { 'en-US': 'With a file' } }, [file])
    const { versions } = ok(await root().get(`/eas/${file._id}`))
    const { pathname, search } = new URL(versions.original.url)
    const download = async (headers = {}) => {
      const answer = await it.svc.inject({ method: 'GET', url: pathname + search, headers })
      return { status: answer.statusCode, content: answer.rawPayload }
    }
    const rejected = { authorization: 'Bearer what-no-server-has-ever-given' }
    for (const path of [`uuid/${object._uuid}`, `uuid/${hidden._uuid}`]) {
      const [without, withBad] = [await it.open(path), await it.open(path, null, { headers: rejected })]
      assert.deepEqual([withBad.status, withBad.code], [without.status, without.code])
      if (without.status === 200) assert.deepEqual(withBad.content, without.content)
    }
    const signed = await download()
    assert.deepEqual([signed.status, await download(rejected)], [200, signed])
  })

  test('LINK-004 who may not read an object is answered 403, whatever is asked of it', async () => {
    for (const login of [null, 'reader']) {
      for (const more of [
        '',
        '/latest',
        '/version/1',
        '/format/json',
        '/file/all/1',
        '/file_browser/preferred',
        '/mask/none',
      ]) {
        refused(await it.open(`uuid/${hidden._uuid}${more}`, login), 403, 'ObjectInsufficientRights', more)
      }
    }
    assert.equal(title(await it.open(`uuid/${hidden._uuid}`, 'root')), 'Hidden')
  })

  test('LINK-006 exactly one object selector, each other one at most once', async () => {
    const one = `uuid/${view._uuid}`
    const all = 'mask/work__title_only/format/json/disposition/inline'
    for (const path of [one, `${one}/${all}`, `${all}/${one}`, `disposition/inline/${one}/format/json`]) {
      assert.equal(title(await it.open(path)), 'View', path)
    }
    const file = 'file/all/1/file_browser/1/file_version/name/original'
    for (const path of [
      '',
      all,
      `${one}/${one}`,
      `${one}/id/${view._system_object_id}`,
      `id/${view._system_object_id}/column/work/inventory/A1`,
      `${one}/mask/work__standard/mask/work__standard`,
      `${one}/format/json/format/json`,
      `${one}/disposition/inline/disposition/inline`,
      `${one}/${file}/file/all/1`,
      `${one}/${file}/file_browser/1`,
      `${one}/${file}/file_version/name/original`,
    ]) {
      refused(await it.open(path, 'root'), 400, 'ApiObjectPath', path)
    }
  })

  test('LINK-007 by system object id, where that is allowed; numbers tell nothing', async () => {
    assert.equal(title(await it.open(`id/${view._system_object_id}`)), 'View')
    const [secret, none] = [await it.open(`id/${hidden._system_object_id}`), await it.open('id/999999')]
    refused(secret, 403, 'ObjectInsufficientRights')
    const told = ({ json }: Opened) => ({ ...json(), request_id: '' })
    assert.deepEqual(told(none), told(secret), 'what is not there is as what one may not read')
    refused(await it.open('id/999999', 'reader'), 403, 'ObjectInsufficientRights')
    refused(await it.open('id/999999', 'root'), 400, 'ApiObjectPath')
    await it.access({ enabled: true })
    refused(await it.open(`id/${view._system_object_id}`), 400, 'DeepLinkAccessByIdDisabled')
    await it.access(everything)
  })

  test('LINK-008 by uuid', async () => {
    const answer = await it.open(`uuid/${view._uuid}`)
    assert.equal(answer.json()._uuid, view._uuid)
    assert.equal(answer.json()._system_object_id, view._system_object_id)
    const named = await it.work({ title: { 'en-US': 'Named' } }, [], { _uuid: 'a/b%c?d' })
    assert.equal(title(await it.open(`uuid/${encodeURIComponent(named._uuid)}`)), 'Named')
    refused(await it.open('uuid/none'), 400, 'ApiObjectPath')
    refused(await it.open(`uuid/${view._uuid.toUpperCase()}x`), 400, 'ApiObjectPath')
  })

  test('LINK-009 by the value of a column, where that is allowed and one object has it', async () => {
    assert.equal(title(await it.open('column/work/inventory/A1')), 'View')
    assert.equal(title(await it.open('column/work/width/7')), 'View', 'a number')
    const [twin] = ok(
      await root().post('/db/work', [
        payload('work', { ...inPool(it.pool), title: { 'en-US': 'Twin' }, inventory: 'A2', note: 'public' }),
      ]),
    )
    await it.svc.drain()
    refused(await it.open('column/work/note/public'), 400, 'ApiObjectPath', 'two have it')
    for (const path of [
      'column/work/inventory/none',
      'column/work/nothing/A1',
      'column/nothing/inventory/A1',
      'column/work/width/seven',
      'column/work/creator.person.name/A1',
      'column/work/inventory/V1',
    ]) {
      refused(await it.open(path), 400, 'ApiObjectPath', path)
    }
    assert.equal(title(await it.open('column/work/inventory/V1', 'root')), 'Hidden')
    // What a caller may not read does not make a value ambiguous.
    ok(await root().post('/db/work', [payload('work', { ...inPool(it.vault), title: { 'en-US': 'x' }, note: 'once' })]))
    ok(
      await root().post('/db/work', [
        payload('work', { ...inPool(it.pool), title: { 'en-US': 'Once' }, note: 'once' }),
      ]),
    )
    await it.svc.drain()
    assert.equal(title(await it.open('column/work/note/once')), 'Once')
    refused(await it.open('column/work/note/once', 'root'), 400, 'ApiObjectPath')
    await it.access({ enabled: true })
    refused(await it.open('column/work/inventory/A1'), 400, 'DeepLinkAccessByColumnDisabled')
    await it.access(everything)
    assert.ok(twin)
  })

  test('LINK-009 a field in a nested table names an object as well; one that the mask hides does not', async () => {
    await it.work({ title: { 'en-US': 'Made of oak' }, '_nested:work__material': [{ name: 'oak' }] })
    await it.svc.drain()
    const path = 'column/work/_nested:work__material.name/oak'
    assert.equal(title(await it.open(path)), 'Made of oak')
    const { masks } = ok(await root().get('/mask/CURRENT'))
    const { mask_id, table_id } = masks.find(({ name }: Json) => name === 'work__title_only')
    await it.grant({ deep_link: { read: { mask_ids: { [table_id]: [mask_id] } } }, reader: { read: {} } })
    refused(await it.open(path), 400, 'ApiObjectPath')
    assert.equal(title(await it.open(path, 'reader')), 'Made of oak')
    await it.grant({ deep_link: { read: {} }, reader: { read: {} } })
  })

  test('LINK-010 by a mask, else by the best one of the caller', async () => {
    const path = `uuid/${view._uuid}`
    const shown = await it.open(`${path}/mask/work__title_only`)
    assert.equal(shown.json()._mask, 'work__title_only')
    assert.ok(!('inventory' in shown.json().work))
    assert.equal((await it.open(path)).json()._mask, 'work__standard')
    assert.equal((await it.open(path)).json().work.inventory, 'A1')
    refused(await it.open(`${path}/mask/nothing`), 403, 'ObjectInsufficientRights')
    refused(await it.open(`${path}/mask/nothing`, 'root'), 400, 'ApiObjectPath')
    const { masks } = ok(await root().get('/mask/CURRENT'))
    const { mask_id, table_id } = masks.find(({ name }: Json) => name === 'work__title_only')
    await it.grant({ deep_link: { read: { mask_ids: { [table_id]: [mask_id] } } }, reader: { read: {} } })
    assert.equal((await it.open(path)).json()._mask, 'work__title_only')
    refused(await it.open(`${path}/mask/work__standard`), 403, 'ObjectInsufficientRights')
    await it.grant({ deep_link: { read: {} }, reader: { read: {} } })
  })

  test('LINK-011 latest or a version stands directly behind id or uuid', async () => {
    const object = await it.work({ title: { 'en-US': 'First' } })
    const changed = { ...object, work: { ...object.work, title: { 'en-US': 'Second' } } }
    ok(await root().post('/db/work', [changed]))
    for (const path of [`uuid/${object._uuid}`, `id/${object._system_object_id}`]) {
      assert.equal(title(await it.open(path)), 'Second')
      assert.equal(title(await it.open(`${path}/latest`)), 'Second')
      assert.equal(title(await it.open(`${path}/version/1`)), 'First')
      assert.equal(title(await it.open(`${path}/version/2/format/json`)), 'Second')
      refused(await it.open(`${path}/version/3`), 400, 'ApiObjectPath')
      refused(await it.open(`${path}/format/json/version/1`), 400, 'ApiObjectPath')
      refused(await it.open(`${path}/format/json/latest`), 400, 'ApiObjectPath')
    }
    refused(await it.open('column/work/inventory/A1/version/1'), 400, 'ApiObjectPath')
  })

  test('what was deleted is gone, for who could read it', async () => {
    const object = await it.work({ title: { 'en-US': 'Deleted' } })
    ok(await root().delete('/db/work', [[object.work._id, 1, null]], { delete_policy: 'remove' }))
    for (const path of [`uuid/${object._uuid}`, `id/${object._system_object_id}`]) {
      for (const login of [null, 'reader', 'root']) refused(await it.open(path, login), 410, 'ObjectGone')
    }
    await it.grant({ reader: { read: {} } })
    refused(await it.open(`uuid/${object._uuid}`), 403, 'ObjectInsufficientRights')
    await it.grant({ deep_link: { read: {} }, reader: { read: {} } })
    ok(await root().delete('/db/work', [[object.work._id, 2, null]], { delete_policy: 'purge' }))
    refused(await it.open(`uuid/${object._uuid}`, 'root'), 410, 'ObjectGone')
    refused(await it.open(`uuid/${object._uuid}`), 400, 'ApiObjectPath')
    refused(await it.open(`id/${object._system_object_id}`), 403, 'ObjectInsufficientRights')
  })

  test('answers are kept and asked for again each time; conditional requests are answered', async () => {
    const path = `uuid/${view._uuid}`
    const first = await it.open(path)
    assert.equal(first.headers['cache-control'], 'no-cache, must-revalidate')
    const tag = `${first.headers.etag}`
    assert.match(tag, /^"[0-9a-f]{32}"$/)
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const again = await it.open(path, null, { headers: { 'if-none-match': known } })
      assert.deepEqual([again.status, again.content.length, again.headers.etag], [304, 0, tag], known)
    }
    const other = await it.open(path, null, { headers: { 'if-none-match': '"other"' } })
    assert.equal(other.status, 200)
    await it.grant({ reader: { read: {} } })
    refused(await it.open(path, null, { headers: { 'if-none-match': tag } }), 403, 'ObjectInsufficientRights')
    await it.grant({ deep_link: { read: {} }, reader: { read: {} } })
  })

  test('pages of any origin may read what is behind a deep link, and are told so beforehand', async () => {
    const origin = 'https://viewer.example'
    const read = await it.open(`uuid/${view._uuid}`, null, { headers: { origin } })
    assert.equal(read.headers['access-control-allow-origin'], '*')
    assert.equal(read.headers['access-control-allow-credentials'], undefined)
    for (const url of [`/api/v1/objects/uuid/${view._uuid}`, '/api/v1/eas/iiif/1/x/original/info.json']) {
      const preflight = await it.svc.inject({
        method: 'OPTIONS',
        url,
        headers: { origin, 'access-control-request-method': 'GET' },
      })
      assert.ok(preflight.statusCode < 300, `${preflight.statusCode}`)
      assert.equal(preflight.headers['access-control-allow-origin'], '*')
    }
  })

  test('paths of all kinds are refused, and nothing happens', async () => {
    for (const path of [
      `uuid/${view._uuid}/..%2f..`,
      'uuid/%00',
      'uuid/a%00',
      'uuid/%ff',
      'uuid/%ed%a0%80',
      'id/1e3',
      'id/9223372036854775808',
      `uuid/${'x'.repeat(3000)}`,
      `uuid/${'x'.repeat(9000)}`,
      Array.from({ length: 2000 }, () => 'a').join('/'),
      `column/work/inventory/${'%27%20or%201=1'.repeat(20)}`,
      `uuid/${view._uuid}/mask/%27;drop`,
      `uuid/${view._uuid}/format/..%2f..%2fetc`,
    ]) {
      const { status, code } = await it.open(path)
      assert.ok([400, 403, 414].includes(status), `${path.slice(0, 80)} ${status}`)
      assert.notEqual(code, 'ServerError')
    }
  })

  test('LINK-016 JSON is the default; xml_native, csv and html are had as well', async () => {
    const path = `uuid/${view._uuid}`
    const plain = await it.open(path)
    assert.match(`${plain.headers['content-type']}`, /^application\/json/)
    assert.deepEqual((await it.open(`${path}/format/json`)).json(), plain.json())
    assert.equal(plain.json().work.title['de-DE'], 'Ansicht', 'in all languages')
    const xml = await it.open(`${path}/format/xml_native`)
    assert.match(`${xml.headers['content-type']}`, /xml/)
    assert.match(xml.content.toString(), /<title[^>]*>/)
    assert.ok(xml.content.includes('Ansicht'))
    const csv = await it.open(`${path}/format/csv`)
    assert.match(`${csv.headers['content-type']}`, /^text\/csv/)
    assert.ok(csv.content.includes('A1'))
    const html = await it.open(`${path}/format/html`)
    assert.match(`${html.headers['content-type']}`, /^text\/html/)
    assert.ok(html.content.includes('View'))
    for (const [asked, shown] of [
      ['de', 'Ansicht'],
      ['fr, de-AT;q=0.5, en;q=0.1', 'Ansicht'],
      ['en-GB, de;q=0.9', 'View'],
      ['de;q=0, *', 'View'],
      [`${'x,'.repeat(5000)}de`, 'View'],
    ] as const) {
      const page = await it.open(`${path}/format/html`, null, { headers: { 'accept-language': asked } })
      assert.match(page.content.toString(), new RegExp(`<title>${shown}`), asked)
      assert.match(`${page.headers.vary}`, /Accept-Language/)
    }
    for (const format of ['xlsx', 'none', 'xml', 'lid', 'xslt/none', 'xmlmapping/1']) {
      refused(await it.open(`${path}/format/${format}`), 400, 'ApiObjectPath', format)
    }
  })

  test('LINK-017 a style sheet, where it is enabled for deep links', async () => {
    const sheet = `<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
      <xsl:template match="/"><record><xsl:value-of select="normalize-space(//*[local-name() = 'inventory'])"/></record></xsl:template>
    </xsl:stylesheet>`
    const [file] = (await upload(it.svc, 'root', [{ name: 'record.xslt', content: Buffer.from(sheet) }])).body
    const xslts = [
      { xslt: { _id: file._id }, oai_pmh_prefix: 'record', use_for_api_objects: true },
      { xslt: { _id: file._id }, oai_pmh_prefix: 'harvest', use_for_oai_pmh: true },
      { xslt: { _id: file._id }, oai_pmh_prefix: 'plain', use_for_api_objects: true, content_type: 'text/plain' },
    ]
    ok(await root().post('/config/system/config/export', { xslts }))
    const path = `uuid/${view._uuid}/format/xslt`
    const made = await it.open(`${path}/record`)
    assert.equal(made.status, 200, made.content.toString())
    assert.match(`${made.headers['content-type']}`, /^application\/xml/)
    assert.match(made.content.toString(), /<record>A1<\/record>/)
    assert.match(`${made.headers['content-security-policy']}`, /^sandbox; /)
    assert.match(`${(await it.open(`${path}/plain`)).headers['content-type']}`, /^text\/plain/)
    for (const name of ['harvest', 'none']) refused(await it.open(`${path}/${name}`), 400, 'ApiObjectPath', name)
  })

  test('LINK-015 a document is shown or saved as the path or the query says', async () => {
    const path = `uuid/${view._uuid}/format/json`
    assert.equal((await it.open(path)).headers['content-disposition'], undefined)
    const name = `filename="${view._uuid}.json"`
    for (const how of ['inline', 'attachment']) {
      for (const asked of [
        `${path}/disposition/${how}`,
        `${path}?disposition=${how}`,
        `disposition/${how}/${path}?disposition=${how}`,
      ]) {
        const header = `${(await it.open(asked)).headers['content-disposition']}`
        assert.ok(header.startsWith(`${how}; ${name}`), `${asked}: ${header}`)
      }
    }
    // A download is asked for in the path or in the query.
    for (const asked of ['inline?disposition=attachment', 'attachment?disposition=inline']) {
      const header = `${(await it.open(`${path}/disposition/${asked}`)).headers['content-disposition']}`
      assert.ok(header.startsWith(`attachment; ${name}`), `${asked}: ${header}`)
    }
    assert.equal((await it.open(`${path}?disposition=other`)).status, 400)
    assert.match(`${(await it.open(path)).headers['content-type']}`, /^application\/json/)
  })

  test('linked objects stand in documents as the settings say', async () => {
    const [creator] = ok(await root().post('/db/person', [payload('person', { name: 'Turner', reference: 'T' })]))
    const link = { _objecttype: 'person', _mask: '_all_fields', _system_object_id: creator._system_object_id }
    const object = await it.work({ title: { 'en-US': 'By Turner' }, creator: link })
    const linked = async () => (await it.open(`uuid/${object._uuid}`, 'root')).json().work.creator
    assert.equal((await linked()).person.reference, undefined)
    await it.access({ ...everything, merge_linked_objects: 'all', merge_max_depth: 2 })
    assert.equal((await linked()).person.reference, 'T')
    await it.access(everything)
  })

  test('who has no account of their own opens so many within an hour', async () => {
    await using few = await startDeepLinks({ quotaDeepLinks: 3 })
    const object = await few.work({ title: { 'en-US': 'Seldom' } })
    await few.grant({ deep_link: { read: {} }, reader: { read: {} } })
    await few.access(everything)
    for (const path of [`uuid/${object._uuid}`, 'uuid/none', 'no path'])
      assert.notEqual((await few.open(path)).status, 429)
    const over = await few.open(`uuid/${object._uuid}`)
    refused(over, 429, 'QuotaExceeded')
    assert.equal(over.json().parameters.quota, 'svc.quotas.deepLinks')
    assert.ok(Number(over.headers['retry-after']) > 0)
    for (let n = 0; n < 5; n++) assert.equal((await few.open(`uuid/${object._uuid}`, 'reader')).status, 200)
  })
})
