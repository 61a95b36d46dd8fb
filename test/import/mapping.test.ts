import assert from 'node:assert/strict'
import { test } from 'node:test'
import { artistIds } from '../../src/import/tate/artists.ts'
import { artistObject, artworkObject, leavesOf, termObject } from '../../src/import/tate/mapping.ts'
import type { TateArtwork } from '../../src/import/tate/records.ts'
import { inLevels, type Term } from '../../src/import/tate/vocabulary.ts'
import type { Json } from '../support/client.ts'

const record: TateArtwork = {
  id: 7,
  acno: 'N00001',
  title: ' A  title\n',
  foreignTitle: null,
  groupTitle: '',
  classification: 'painting',
  medium: 'Oil on canvas \r\n\r\n',
  dateRange: { startYear: 1828, endYear: 1819, text: '1828-9' },
  dateText: '1828-9',
  width: '189.5',
  height: '(upper):',
  depth: '',
  dimensions: 'support: 189.5 x 20 mm',
  inscription: null,
  acquisitionYear: 1922,
  creditLine: 'ARTIST ROOMS\r\nGiven',
  url: 'http://example.org/7',
  thumbnailUrl: null,
  contributors: [
    { id: 1, mda: 'Doe, Ada', role: 'artist', displayOrder: 1 },
    { id: 2, mda: 'Unknown, A.', role: 'after', displayOrder: 2 },
    { id: 2, mda: 'Unknown, A.', role: 'after', displayOrder: 3 },
  ],
  movements: [{ id: 30, name: 'Cubism', era: { id: 8, name: '20th century' } }],
  subjects: {
    id: 100,
    name: 'subject',
    children: [
      { id: 101, name: 'people', children: [{ id: 102, name: 'man' }] },
      { id: 103, name: 'nature' },
    ],
  },
}

const known = {
  artists: new Map([[1, 1001]]),
  subjects: new Map([
    [100, 1100],
    [101, 1101],
    [102, 1102],
    [103, 1103],
  ]),
  movements: new Map([[30, 1030]]),
}

const blockOf = (changes: Partial<TateArtwork> = {}): Json => artworkObject({ ...record, ...changes }, known, 5).artwork

test('an artwork with everything that is easy to get wrong', () => {
  assert.deepEqual(JSON.parse(JSON.stringify(blockOf())), {
    _pool: { pool: { _id: 5 } },
    tate_id: 7,
    accession_number: 'N00001',
    title: { 'en-US': 'A title' },
    classification: 'painting',
    medium: 'Oil on canvas',
    date: { from: '1828', to: '1828', text: { 'en-US': '1828-9' } },
    date_text: '1828-9',
    height: 18950,
    dimensions: 'support: 189.5 x 20 mm',
    acquisition_year: 1922,
    credit_line: 'ARTIST ROOMS\nGiven',
    url: 'http://example.org/7',
    '_nested:artwork__contributor': [
      { artist: { _objecttype: 'artist', _system_object_id: 1001 }, role: 'artist', position: 1 },
      { name: 'Unknown, A.', role: 'after', position: 3 },
    ],
    '_nested:artwork__subject': [
      { subject: { _objecttype: 'subject', _system_object_id: 1102 } },
      { subject: { _objecttype: 'subject', _system_object_id: 1103 } },
    ],
    '_nested:artwork__movement': [{ movement: { _objecttype: 'movement', _system_object_id: 1030 } }],
  })
})

test('dates as the collection writes them', () => {
  const cases: [TateArtwork['dateRange'], object | undefined][] = [
    [null, undefined],
    [{ startYear: 'no date', text: 'no date' }, undefined],
    [
      { startYear: '2006', text: null },
      { from: '2006', to: '2006' },
    ],
    [
      { startYear: 850, endYear: 1545, text: '' },
      { from: '0850', to: '1545' },
    ],
    [{ startYear: 1992 }, { from: '1992', to: '1992' }],
  ]
  for (const [range, expected] of cases) assert.deepEqual(blockOf({ dateRange: range }).date, expected)
})

test('only the most specific subjects are linked', () => {
  assert.deepEqual(leavesOf(record.subjects), [102, 103])
  assert.deepEqual(leavesOf(undefined), [])
})

test('of two records with the same id the one filed under a letter is linked', () => {
  const artist = (sourceRecord: string, startLetter?: string) => ({
    id: 9,
    mda: 'A',
    fc: 'A',
    date: null,
    gender: null,
    url: '',
    movements: [],
    sourceRecord,
    ...(startLetter ? { startLetter } : {}),
  })
  const ids = new Map([
    ['9', 1],
    ['9-2', 2],
  ])
  assert.equal(artistIds([artist('9'), artist('9-2', 'A')], ids).get(9), 2)
  assert.equal(artistIds([artist('9', 'A'), artist('9-2')], ids).get(9), 1)
  const wire: Json = artistObject(artist('9-2'), { movements: new Map() })
  assert.deepEqual([wire.artist.tate_id, wire.artist.source_record], [9, '9-2'])
})

test('terms come level by level, also below several parents', () => {
  const term = (id: number, ...parents: number[]): [number, Term] => [
    id,
    { id, name: `t${id}`, parents: new Set(parents) },
  ]
  const levels = inLevels(new Map([term(4, 2, 1), term(1), term(2, 1), term(3, 2)]))
  assert.deepEqual(
    levels.map((level) => level.map(({ id }) => id)),
    [[1], [2], [4, 3]],
  )
  const subject: Json = termObject('subject', { id: 4, name: 'four' }, [11, 12])
  assert.deepEqual(
    subject.subject._parents.map((parent: Json) => parent._system_object_id),
    [11, 12],
  )
})
