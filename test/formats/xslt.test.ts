import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { sheetProblem, transform } from '../../src/formats/xslt/sheets.ts'
import { noDeadline } from '../../src/platform/limits/deadline.ts'
import { upload } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import { actingRoot, refs, type Scene, startScene, written } from './scene.ts'

const sheetOf = (body: string, more = ''): string =>
  `<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:o="urn:strongroom:objects:1" exclude-result-prefixes="o" ${more}>${body}</xsl:stylesheet>`
const template = (body: string): string => sheetOf(`<xsl:template match="/">${body}</xsl:template>`)
const titles = sheetOf(
  '<xsl:output method="xml" omit-xml-declaration="yes"/><xsl:template match="/"><list><xsl:for-each select="o:objects/o:work"><title><xsl:value-of select="o:title/o:en-US"/></title></xsl:for-each></list></xsl:template>',
)

/** With limits that a test can wait for. */
const applied = (sheet: string, xml = '<a>1</a>', limits = { time: 20_000, memory: 64_000_000 }): Promise<string> =>
  transform({ name: 'tried', sheet, xml }, noDeadline, limits)
const fails = (sheet: string, reason: RegExp, ...more: [xml?: string, limits?: { time: number; memory: number }]) =>
  assert.rejects(applied(sheet, ...more), (error: Error & { code?: string; parameters?: Json }) => {
    assert.equal(error.code, 'ServerGeneric')
    assert.equal(error.parameters?.xslt, 'tried')
    assert.match(error.message, reason)
    return true
  })

suite('what a style sheet may take', () => {
  test('a sheet that loops is ended, and so is one that calls itself or fills its memory', async () => {
    const each = '<xsl:for-each select="//b">'
    const loop = template(`${each}${each}${each}<xsl:if test="count(//b) = 1">x</xsl:if>${'</xsl:for-each>'.repeat(3)}`)
    await fails(loop, /more than 1 seconds/, `<a>${'<b>x</b>'.repeat(3000)}</a>`, { time: 1000, memory: 64_000_000 })
    const calling = (parameter: string): string =>
      sheetOf(
        `<xsl:template match="/"><xsl:call-template name="x"><xsl:with-param name="s" select="'aaaaaaaa'"/></xsl:call-template></xsl:template><xsl:template name="x"><xsl:param name="s"/><xsl:call-template name="x"><xsl:with-param name="s" select="${parameter}"/></xsl:call-template></xsl:template>`,
      )
    await fails(calling('$s'), /fails/)
    await fails(calling('concat($s, $s)'), /fails/)
    // The next one finds everything in order.
    assert.match(await applied(template('<o><xsl:value-of select="a"/></o>')), /<o>1<\/o>/)
  })

  test('neither document() nor entities nor imports read files or addresses, and nothing is written', async () => {
    const asked: string[] = []
    const server = (await import('node:http')).createServer((request, reply) => {
      asked.push(request.url ?? '')
      reply.end('<secret/>')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const address = `http://127.0.0.1:${port}/x`
    try {
      const file = import.meta.url
      const copy = (place: string) => template(`<o><xsl:copy-of select="document('${place}')"/></o>`)
      assert.equal((await applied(copy(file))).includes('startScene'), false)
      await fails(copy(address), /reads no other files or addresses/)
      for (const place of [file, '/etc/hostname', address]) {
        const entity = `<!DOCTYPE x [<!ENTITY e SYSTEM "${place}">]>`
        assert.match(await applied(`${entity}${template('<o>&e;</o>')}`), /<o\/>/)
        assert.match(await applied(template('<o><xsl:value-of select="a"/></o>'), `${entity}<a>&e;</a>`), /<o\/>/)
        for (const element of ['import', 'include']) {
          const including = sheetOf(`<xsl:${element} href="${place}"/><xsl:template match="/"><o/></xsl:template>`)
          await fails(including, /fails/)
        }
      }
      const writing = sheetOf(
        '<xsl:template match="/"><e:document href="written-by-a-sheet.xml"><p/></e:document></xsl:template>',
        'xmlns:e="http://exslt.org/common" extension-element-prefixes="e"',
      )
      await fails(writing, /fails/)
      assert.deepEqual(asked, [])
    } finally {
      server.close()
    }
  })

  test('entities that grow without end are refused', async () => {
    const grown = Array.from({ length: 9 }, (_, n) => `<!ENTITY e${n + 1} "${`&e${n};`.repeat(10)}">`).join('')
    const entities = `<!DOCTYPE x [<!ENTITY e0 "aaaaaaaaaa">${grown}]>`
    await fails(`${entities}${template('<o>&e9;</o>')}`, /fails/)
  })

  test('what is no style sheet of XSLT 1.0 is told so', async () => {
    assert.equal(await sheetProblem(titles), null)
    const problems: readonly [string, RegExp][] = [
      ['nonsense', /no style sheet/],
      ['<html/>', /no style sheet/],
      [titles.replace('version="1.0"', ''), /no style sheet/],
      [titles.replace('version="1.0"', 'version="2.0"'), /in 2\.0/],
      [titles.replace('version="1.0"', "version = '3.0'"), /in 3\.0/],
      [template('<o>'), /mismatch/],
      [template('<xsl:nonsense/>'), /nonsense/],
      [template('<xsl:value-of select="///"/>'), /expression/],
    ]
    for (const [sheet, problem] of problems) assert.match((await sheetProblem(sheet)) ?? '', problem, sheet)
  })
})

suite('style sheets of the base configuration', () => {
  let scene: Scene
  before(async () => {
    scene = await startScene()
  })
  after(() => scene[Symbol.asyncDispose]())

  const put = async (name: string, text: string): Promise<number> => {
    const { status, body } = await upload(scene.svc, 'root', [{ name, content: Buffer.from(text) }])
    assert.equal(status, 200, JSON.stringify(body))
    return body[0]._id
  }
  const save = (xslts: object[]) => scene.svc.as('root').post('/config/system/config/export', { xslts })

  test('a sheet is a format by its name, with the type of its content, and sees the objects as xml_native', async () => {
    const id = await put('titles.xsl', titles)
    const row = { xslt: { _id: id }, oai_pmh_prefix: 'titles', displayname: { 'en-US': 'Titles' }, namespace: 'urn:t' }
    const json = await put(
      'json.XSLT',
      sheetOf(
        '<xsl:output method="text"/><xsl:template match="/">{"n": <xsl:value-of select="count(o:objects/*)"/>}</xsl:template>',
      ),
    )
    const text = { xslt: { _id: json }, oai_pmh_prefix: 'count', content_type: 'application/json' }
    const saved = await save([row, text])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    const objects = refs(scene.work, scene.bare, scene.artist)
    assert.equal(
      (await written(scene.svc, 'xslt/titles', objects)).trim(),
      '<list><title>The lake&#13;\nat dawn</title><title>Bare</title></list>',
    )
    assert.equal(await written(scene.svc, 'xslt/count', objects), '{"n": 3}')
    const { formats } = scene.svc.app
    assert.equal(formats.find('xslt/count')?.contentType, 'application/json')
    assert.equal(formats.find('xslt/count')?.extension, 'json')
    assert.equal(formats.find('xslt/titles')?.sheet?.namespace, 'urn:t')
    assert.equal(formats.sheetOf(id), 'xslt/titles')
    assert.equal(formats.find('xslt/other'), null)
    const each = await Array.fromAsync(formats.each(actingRoot, { format: 'xslt/titles', objects: refs(scene.bare) }))
    assert.equal(each[0]?.bytes.toString().trim(), '<list><title>Bare</title></list>')
    // What names a file keeps it.
    const { rows } = await scene.svc.db.query('select file_id as id from file_holder where section = $1 order by 1', [
      'export',
    ])
    assert.deepEqual(rows, [{ id }, { id: json }])
  })

  test('a file that is no sheet, or that does not compile, is refused with its place, and nothing is changed', async () => {
    const before = (await scene.svc.as('root').get('/config/system/config/export')).body
    const good = await put('good.xsl', titles)
    const cases: readonly [string, string, RegExp][] = [
      ['sheet.txt', titles, /\.xsl or \.xslt/],
      ['broken.xsl', template('<o>'), /mismatch/],
      ['later.xslt', titles.replace('1.0', '3.0'), /in 3\.0/],
    ]
    for (const [name, text, problem] of cases) {
      const rows = [good, await put(name, text)].map((id, index) => ({
        xslt: { _id: id },
        oai_pmh_prefix: `s${index}`,
      }))
      const { status, body } = await save(rows)
      assert.deepEqual([status, body.code], [400, 'ServerGeneric'])
      assert.equal(body.parameters.path, 'system/config/export/xslts/1/xslt')
      assert.match(body.message, problem)
    }
    for (const row of [
      { xslt: { _id: 999_999 }, oai_pmh_prefix: 'x' },
      { xslt: { _id: good } },
      { xslt: { _id: good }, oai_pmh_prefix: 'a/b' },
      { xslt: { _id: good }, oai_pmh_prefix: 'x', content_type: 'text/html\r\nX: y' },
    ]) {
      assert.equal((await save([row])).status, 400, JSON.stringify(row))
    }
    assert.deepEqual((await scene.svc.as('root').get('/config/system/config/export')).body, before)
  })
})
