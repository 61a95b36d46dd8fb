import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { convert, dateText } from '../../src/mappings/import/convert.ts'
import { tagReader } from '../../src/mappings/import/read-tags.ts'
import { loadProfiles } from '../../src/mappings/profiles.ts'
import { openTagCatalogue } from '../../src/mappings/tags/tags.ts'
import type { Json } from '../support/client.ts'
import { startService } from '../support/service.ts'

const profile = `profile: museum.yml
displayname: { en-US: Museum }
profile_type: { exiftool_import: true }
tabs:
  - tab: objects
    text: { en-US: Objects }
    fields:
      - { name: inventory, text: { en-US: Inventory }, strategy_import: merge, import: ['XMP-museum:Inventory'], export: [{ path: 'XMP-museum:inventory' }] }
`

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'profiles-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

test('profiles of one’s own come from folders and files of the configuration', () =>
  inFolder(async (folder) => {
    await writeFile(join(folder, 'museum.yml'), profile)
    await writeFile(join(folder, 'notes.txt'), 'no profile')
    await mkdir(join(folder, 'other'))
    const single = join(folder, 'other', 'second.yml')
    await writeFile(single, profile.replace('museum.yml', 'second.yml'))
    await using svc = await startService({ mappingPaths: [folder, single] })
    const { body } = await svc.as('root').get('/xmlmapping/list')
    const builtIn = ['dc.yml', 'file-metadata.yml', 'lido.yml', 'mods.yml']
    assert.deepEqual(body.map((one: Json) => one.profile).sort(), [...builtIn, 'museum.yml', 'second.yml'].sort())
    const own = body.find((one: Json) => one.profile === 'museum.yml')
    assert.deepEqual(own.profile_type, { exiftool_import: true })
    const [field] = own.tabs[0].fields
    assert.deepEqual(
      [field.name, field.strategy_import, field.xml_import, field.xml_export],
      ['inventory', 'merge', [{ search: 'XMP-museum:Inventory' }], [{ path: 'XMP-museum:Inventory' }]],
    )
    const made = await svc
      .as('root')
      .put('/xmlmapping/mapping', { profile: 'museum.yml', fields: [{ name: 'inventory' }] })
    assert.deepEqual([made.status, made.body.profile_type], [200, { exiftool_import: true, exiftool_export: false }])
  }))

test('a profile that cannot be read keeps the service from starting, and says where it is wrong', () =>
  inFolder(async (folder) => {
    const tags = await openTagCatalogue()
    const cases: readonly (readonly [text: string, message: RegExp])[] = [
      ['a: [', /museum\.yml: /],
      ['[]', /museum\.yml: .*object/],
      [
        profile.replace('profile: museum.yml', 'profile: other.yml'),
        /museum\.yml: profile must be the name of the file/,
      ],
      [
        profile.replace('exiftool_import', 'exiftool_imports'),
        /museum\.yml: \/profile_type\/exiftool_imports is not known/,
      ],
      [
        profile.replace('displayname:', 'xml_base: http://www.lido-schema.org\ndisplayname:'),
        /museum\.yml: xml_base is for profiles with xml_export/,
      ],
      [profile.replace('exiftool_import: true', 'xml_export: true'), /museum\.yml: xml_base must be one of http/],
      [profile.replace('merge', 'first'), /museum\.yml: \/tabs\/0\/fields\/0\/strategy_import/],
      [profile.replace("['XMP-museum:Inventory']", "['//a[b=1]']"), /museum\.yml: inventory: .*is no tag/],
      [
        profile.replace('XMP-museum:inventory', 'System:FileName'),
        /museum\.yml: inventory: .*no tag that can be written/,
      ],
      [
        profile.replace('XMP-museum:inventory', 'XMP-plus:Nothing'),
        /museum\.yml: inventory: .*no tag that can be written/,
      ],
      [`${profile}      - { name: inventory, text: {} }\n`, /museum\.yml: two fields are called inventory/],
      [`a: &a [x,x]\nb: &b [*a,*a]\n${'c: [*b,*b]\n'.repeat(200)}`, /museum\.yml: /],
      [`${profile}# ${'x'.repeat(1_000_000)}`, /museum\.yml: a profile has at most/],
    ]
    for (const [text, message] of cases) {
      await writeFile(join(folder, 'museum.yml'), text)
      await assert.rejects(loadProfiles([folder], tags), message)
    }
    await writeFile(join(folder, 'museum.yml'), profile)
    await assert.rejects(
      loadProfiles([folder, join(folder, 'museum.yml')], tags),
      /there is another profile museum\.yml/,
    )
  }))

test('the list of tags is that of the ExifTool that is installed', async () => {
  const own = createRequire(import.meta.url)
  const script: unknown = own(createRequire(own.resolve('exiftool-vendored')).resolve('exiftool-vendored.pl'))
  const { stdout } = await promisify(execFile)('perl', [`${script}`, '-config', '', '-ver'])
  const list = gunzipSync(await readFile(new URL('../../src/mappings/tags/tags.tsv.gz', import.meta.url)))
  const [first] = list.toString('utf8').split('\n', 1)
  assert.equal(first, `ExifTool ${stdout.trim()}`, 'run scripts/tags.ts')
})

test('dates of any kind become dates, or nothing', () => {
  for (const [text, width, date] of [
    ['2008:10:22 16:28:39', 'day', '2008-10-22'],
    ['2008:10:22 16:28:39.50+02:00', 'second', '2008-10-22T16:28:39+02:00'],
    ['2008:10:22 16:28Z', 'second', '2008-10-22T16:28:00Z'],
    ['2008-10', 'second', '2008-10'],
    ['2008:10:00', 'day', '2008-10'],
    ['2008', 'day', '2008'],
    ['0000:00:00 00:00:00', 'second', undefined],
    ['2008:13:01', 'day', undefined],
    ['2008:10:22 25:00:00', 'second', '2008-10-22'],
    ['-0500', 'day', '-0500'],
    ['yesterday', 'day', undefined],
    ['', 'day', undefined],
  ] as const) {
    assert.equal(dateText(text, width), date, text)
  }
})

test('whatever a tag says becomes a value of the type of the column, or nothing', () => {
  const types = [
    'text',
    'text_l10n',
    'number',
    'integer.2',
    'double',
    'boolean',
    'date',
    'datetime',
    'daterange',
    'geo_json',
  ] as const
  const fits: Record<(typeof types)[number], (value: Json) => boolean> = {
    text: (value) => typeof value === 'string',
    text_l10n: (value) =>
      Object.entries(value).every(([name, one]) => ['de-DE', 'en-US'].includes(name) && typeof one === 'string'),
    number: Number.isSafeInteger,
    'integer.2': Number.isSafeInteger,
    double: Number.isFinite,
    boolean: (value) => typeof value === 'boolean',
    date: ({ value }) => typeof value === 'string',
    datetime: ({ value }) => typeof value === 'string',
    daterange: ({ from, to }) => typeof (from ?? to) === 'string',
    geo_json: ({ coordinates }) => Math.abs(coordinates[0]) <= 180 && Math.abs(coordinates[1]) <= 90,
  }
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom(
      '1851 - 1852',
      '- 1852',
      '2008:10:22 16:28:39',
      '54.9 -1.6',
      '1e400',
      '9'.repeat(400),
      '1/160',
      'true',
    ),
  )
  const name = fc.constantFrom('Title', 'Title-de-DE', 'Title-de', 'Title-EN-us', 'Title-x', 'Other')
  const tag = fc.record(
    {
      group: fc.constantFrom('XMP-dc', 'IPTC'),
      name,
      print: text,
      value: fc.oneof(text, fc.double(), fc.boolean()),
      values: fc.array(text),
    },
    { requiredKeys: ['group', 'name', 'print', 'value'] },
  )
  fc.assert(
    fc.property(fc.array(tag), fc.constantFrom(...types), (tags, type) => {
      const reading = tagReader(tags)('xmp-DC:title')
      if (!reading) return
      const column = { type } as Parameters<typeof convert>[0]
      for (const value of convert(column, reading, ['en-US', 'de-DE']))
        assert.ok(fits[type](value), JSON.stringify([type, value]))
    }),
    { numRuns: 300 },
  )
})
